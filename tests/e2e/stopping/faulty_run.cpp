#include "e2e/stopping/faulty_run.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include <gtest/gtest.h>

#include "core/text.h"

namespace lowtide::e2e {

FaultyRun::FaultyRun(const Scene& scene, Words run, int every)
    : scene_(&scene),
      run_(std::move(run)),
      checkpoint_(scene / "run.safetensors"),
      saved_({"--checkpoint", checkpoint_, "--checkpoint-every", std::to_string(every), "--resume",
              checkpoint_}),
      whole_(train(scene,
                   run_ + Words{"--checkpoint", scene / "whole.ck", "--checkpoint-every", "1000"},
                   "whole.onnx")) {}

Outcome FaultyRun::train_with(const std::string& fault,
                              const Words& more,
                              const Words& environment) const {
  return lowtide(
      Words{"train"} + words() + more,
      {.environment = Words{std::string("LD_PRELOAD=") + LOWTIDE_FAULTS, "LOWTIDE_FAULT=" + fault,
                            "ASAN_OPTIONS=verify_asan_link_order=0"} +
                      environment});
}

long FaultyRun::calls(const std::string& call, const std::string& pattern) const {
  const std::string count = *scene_ / "count";
  const Outcome outcome = train_with(core::text("{} {} {} 1 {}", call, pattern, 1L << 40, EIO), {},
                                     {"LOWTIDE_FAULT_COUNT=" + count});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  forget();
  const long result = std::stol(support::read_file(count));
  std::filesystem::remove(count);
  return result;
}

void FaultyRun::expect_failure(const Outcome& outcome, const Words& parts) {
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  for (const std::string& part : parts) {
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << " in: " << outcome.err;
  }
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

void FaultyRun::expect_recovery() const {
  const Trained rest = train(*scene_, words(), "rest.onnx");
  EXPECT_TRUE(rest.bytes == whole_.bytes);
  EXPECT_TRUE(support::read_file(checkpoint_) == support::read_file(*scene_ / "whole.ck"));
  for (const std::string& name : scene_->folder().names()) {
    for (const char* const part : {".tmp", ".part", ".keep", ".probe"}) {
      EXPECT_EQ(name.find(part), std::string::npos) << name;
    }
  }
  forget();
}

void FaultyRun::forget() const {
  for (const char* const age : {"", ".1"}) std::filesystem::remove(checkpoint_ + age);
}

}  // namespace lowtide::e2e
