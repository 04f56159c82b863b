// Runs all of ONNX's node tests and says what became of each.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>

namespace lowtide::conformance {

enum class Verdict {
  kPassed,   // every output, on the native kernels and on the reference ones
  kRefused,  // the reader says that it cannot take the model
  kDiffers,  // another answer
};

struct Outcome {
  Verdict verdict = Verdict::kPassed;
  std::string reason;  // a few words to count by
  std::string detail;
};

using Survey = std::map<std::string, Outcome>;  // by the test's name

Survey survey(const std::filesystem::path& folder);

// "passed 3 of 7; skipped 4: 3 operator Scan, 1 type string".
std::string summary(const Survey& survey);

// Which tests must pass, and which differ for a known reason.
struct Claims {
  std::set<std::string> passing;
  std::map<std::string, std::string> differing;  // reason by name
};

Claims read_claims(const std::filesystem::path& folder);

}  // namespace lowtide::conformance
