#include "data/source/token_file.h"

#include <utility>

#include "core/check.h"
#include "core/random.h"
#include "core/text.h"
#include "data/split.h"

namespace lowtide::data {
namespace {

// Of the generator: no other part of the program uses this counter.
constexpr std::uint64_t kWindowStream = (std::uint64_t{1} << 63U) + 2;

std::int64_t token_bytes(const OpenOptions& options) {
  return core::element_bytes(options.tokens.dtype).count();
}

// The file's tokens, enough for a sample.
ByteSource open_tokens(const std::filesystem::path& path, const OpenOptions& options) {
  ByteSource file = ByteSource::open(path);
  if (options.tokens.sequence < 1) {
    throw core::fail(ErrorCode::kInvalidArgument,
                     "{}: the model has no input of [batch, tokens] that says how many tokens a "
                     "sample has; give --shape",
                     file.name());
  }
  const std::int64_t width = token_bytes(options);
  if (file.size().count() % width != 0) {
    throw core::fail(ErrorCode::kInvalidFile, "{}: {} bytes are no whole number of {} tokens",
                     file.name(), file.size().count(), core::name(options.tokens.dtype));
  }
  const std::int64_t tokens = file.size().count() / width;
  if (tokens < options.tokens.sequence + 1) {
    throw core::fail(ErrorCode::kInvalidFile, "{}: {} tokens; one sample takes {}", file.name(),
                     tokens, options.tokens.sequence + 1);
  }
  return file;
}

}  // namespace

std::shared_ptr<const Dataset> TokenFile::open(const std::filesystem::path& path,
                                               const OpenOptions& options) {
  return std::make_shared<TokenFile>(open_tokens(path, options), options);
}

Parts TokenFile::open_parts(const std::filesystem::path& path,
                            const OpenOptions& options,
                            double share) {
  const ByteSource file = open_tokens(path, options);
  const std::int64_t width = token_bytes(options);
  const std::int64_t sequence = options.tokens.sequence;
  const std::int64_t tokens = file.size().count() / width;
  // The last token of the first part is only a label, as is that of the second.
  const std::int64_t back = held_back(file.name(), (tokens - 2) / sequence, share);
  const std::int64_t middle = tokens - 1 - back * sequence;
  return {
      .training = std::make_shared<TokenFile>(file.part(Bytes(0), Bytes(middle * width)), options),
      .validation = std::make_shared<TokenFile>(
          file.part(Bytes(middle * width), Bytes((tokens - middle) * width)), options, middle)};
}

TokenFile::TokenFile(const ByteSource& tokens, const OpenOptions& options, std::int64_t begin)
    : Dataset(tokens.name(),
              (tokens.size().count() / token_bytes(options) - 1) / options.tokens.sequence,
              {{"tokens", options.tokens.dtype, core::Shape{options.tokens.sequence}},
               {options.label, options.tokens.dtype, core::Shape{options.tokens.sequence}}}),
      tokens_(tokens),
      begin_(begin),
      sequence_(options.tokens.sequence),
      width_(token_bytes(options)),
      seed_(options.seed) {}

void TokenFile::read_from(std::size_t field, std::int64_t first, std::span<std::byte> out) const {
  const std::int64_t later = field == 0 ? 0 : 1;
  tokens_.read_at(Bytes((first + later) * width_), out);
}

void TokenFile::read(std::size_t field,
                     std::span<const std::int64_t> samples,
                     std::span<std::byte> out) const {
  const auto width = static_cast<std::size_t>(sequence_ * width_);
  LT_CHECK(out.size() == samples.size() * width, "room for exactly the samples");
  for (std::size_t i = 0; i < samples.size(); ++i) {
    read_from(field, first_token(samples[i], std::nullopt), out.subspan(i * width, width));
  }
}

void TokenFile::read_in_epoch(std::size_t field,
                              std::span<const std::int64_t> samples,
                              std::int64_t epoch,
                              std::span<std::byte> out) const {
  const auto width = static_cast<std::size_t>(sequence_ * width_);
  LT_CHECK(out.size() == samples.size() * width, "room for exactly the samples");
  for (std::size_t i = 0; i < samples.size(); ++i) {
    read_from(field, first_token(samples[i], epoch), out.subspan(i * width, width));
  }
}

std::string TokenFile::place(std::size_t field,
                             std::int64_t sample,
                             std::int64_t element,
                             std::optional<std::int64_t> epoch) const {
  const std::int64_t later = field == 0 ? 0 : 1;
  return core::text("token {} of the file", begin_ + first_token(sample, epoch) + element + later);
}

std::optional<std::int64_t> TokenFile::tokens() const { return tokens_.size().count() / width_; }

std::int64_t TokenFile::first_token(std::int64_t sample, std::optional<std::int64_t> epoch) const {
  if (!epoch) return sample * sequence_;
  const core::Philox key = core::philox(seed_, static_cast<std::uint64_t>(*epoch), kWindowStream);
  core::RandomStream random(std::uint64_t{key[0]} << 32U | key[1],
                            static_cast<std::uint64_t>(sample));
  const std::int64_t begins = *tokens() - sequence_;
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(begins)));
}

}  // namespace lowtide::data
