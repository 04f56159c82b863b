// EventFile: numbers by step, in the files that TensorBoard reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace lowtide {

struct Scalar {
  std::string name;  // "train/loss": a chart of its own, beside others of the same prefix
  double value = 0;  // kept as float32
};

// One file of events, which grows by a record a step. Use from one thread.
class EventFile {
 public:
  // Begins a file in `folder`, which is made where there is none. Viewers read a folder's files in
  // the order of their names, and this one comes last whatever the clock says. What the others hold
  // of `first_step` and later is taken back, that is, viewers show it no longer: a run that goes on
  // after n steps gives n + 1, one that begins gives 1. Throws Error(kIo).
  EventFile(const std::filesystem::path& folder, std::int64_t first_step);
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;
  ~EventFile();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  // Appends the numbers of one step and hands them to the operating system, so that a viewer can
  // follow. Throws Error(kIo) naming the file; it then ends where it did before.
  void write(std::int64_t step, std::span<const Scalar> scalars);

 private:
  void begin(std::int64_t first_step);
  void append(const std::string& event);

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;  // of whole records
};

}  // namespace lowtide
