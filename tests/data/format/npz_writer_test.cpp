// Archives that Lowtide writes are read back, also where 64-bit sizes are needed.
#include "data/format/npz_writer.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/dataset.h"
#include "data/format/npy.h"
#include "data/format/zip.h"
#include "data/scratch.h"

namespace lowtide::data {
namespace {

TEST(NpzWriter, ReadsBackWithSoundChecksums) {
  const ScratchFolder folder;
  const auto path = folder.path() / "out.npz";
  const std::vector<float> logits = {1.5F, -2, 3, 4, 5, 6};
  const std::vector<std::int64_t> classes = {7, 8};
  NpzWriter writer(path);
  writer.add("logits", core::DType::kFloat32, core::Shape({2, 3}),
             std::as_bytes(std::span(logits)));
  writer.add("class", core::DType::kInt64, core::Shape({2}), std::as_bytes(std::span(classes)));
  writer.finish();

  const auto dataset = open(path);
  std::vector<float> read(6);
  const std::vector<std::int64_t> both = {0, 1};
  dataset->read(dataset->index("logits"), both, std::as_writable_bytes(std::span(read)));
  EXPECT_EQ(read, logits);

  const ZipArchive archive(path);
  for (const ZipMember& member : archive.members()) {
    const ByteSource source = archive.open(member, {});
    FileBytes bytes(static_cast<std::size_t>(source.size().count()));
    source.read_at(0_B, std::as_writable_bytes(std::span(bytes)));
    EXPECT_EQ(crc32(0, std::as_bytes(std::span(bytes))), member.checksum);
  }
}

TEST(NpzWriter, EqualArraysMakeEqualFiles) {
  const ScratchFolder folder;
  for (const char* name : {"a.npz", "b.npz"}) {
    NpzWriter writer(folder.path() / name);
    writer.add("x", core::DType::kUint8, core::Shape({0}), {});
    writer.finish();
  }
  EXPECT_EQ(read_file(folder.path() / "a.npz"), read_file(folder.path() / "b.npz"));
}

TEST(NpzWriter, ManyMembersNeedTheLargeEndRecord) {
  const ScratchFolder folder;
  NpzWriter writer(folder.path() / "many.npz");
  constexpr int kMembers = 65535;
  std::vector<std::string> names;
  for (int i = 0; i < kMembers; ++i) names.push_back(std::to_string(i));
  const std::byte value{42};
  for (const std::string& name : names) {
    writer.add(name, core::DType::kUint8, core::Shape(), std::span(&value, 1));
  }
  writer.finish();
  const ZipArchive archive(folder.path() / "many.npz");
  ASSERT_EQ(archive.members().size(), names.size());
  std::byte read{0};
  open_npy(archive.open(archive.members().back(), {})).read(0, std::span(&read, 1));
  EXPECT_EQ(read, value);
}

TEST(NpzWriter, RefusesTwoOfAName) {
  const ScratchFolder folder;
  NpzWriter writer(folder.path() / "x.npz");
  writer.add("x", core::DType::kUint8, core::Shape({0}), {});
  expect_error(ErrorCode::kInvalidArgument, {"x.npz", "two arrays named 'x'"},
               [&] { writer.add("x", core::DType::kUint8, core::Shape({0}), {}); });
}

}  // namespace
}  // namespace lowtide::data
