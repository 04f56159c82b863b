// A file of tokens: text as numbers, one after the other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "data/dataset.h"
#include "data/format/byte_source.h"

namespace lowtide::data {

// Tokens of the machine's byte order without a header. A sample is `sequence` tokens, field
// "tokens", and the label the token that follows each of them. Sample i of n = (tokens - 1) /
// sequence begins at token i * sequence; in epochs it begins anywhere instead.
class TokenFile final : public Dataset {
 public:
  // All of the file. Throws Error(kInvalidFile) for too few tokens and half ones.
  static std::shared_ptr<const Dataset> open(const std::filesystem::path& path,
                                             const OpenOptions& options);
  // The last part of the file to validate with, rounded to samples, the tokens before to train on.
  static Parts open_parts(const std::filesystem::path& path,
                          const OpenOptions& options,
                          double share);

  // Samples of `tokens`, a whole number of them and enough for one sample, which follow `begin`
  // others in the file.
  TokenFile(const ByteSource& tokens, const OpenOptions& options, std::int64_t begin = 0);

  void read(std::size_t field,
            std::span<const std::int64_t> samples,
            std::span<std::byte> out) const override;
  void read_in_epoch(std::size_t field,
                     std::span<const std::int64_t> samples,
                     std::int64_t epoch,
                     std::span<std::byte> out) const override;
  [[nodiscard]] std::string place(std::size_t field,
                                  std::int64_t sample,
                                  std::int64_t element,
                                  std::optional<std::int64_t> epoch) const override;
  [[nodiscard]] std::optional<std::int64_t> tokens() const override;

 private:
  [[nodiscard]] std::int64_t first_token(std::int64_t sample,
                                         std::optional<std::int64_t> epoch) const;
  void read_from(std::size_t field, std::int64_t first, std::span<std::byte> out) const;

  ByteSource tokens_;
  std::int64_t begin_;  // of these tokens in the file
  std::int64_t sequence_;
  std::int64_t width_;  // bytes of a token
  std::uint64_t seed_;
};

}  // namespace lowtide::data
