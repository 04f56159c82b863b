// Reads TensorBoard's event files by the rules of the format alone; shares no code with the writer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lowtide::e2e {

struct Event {
  double wall_time = 0;
  std::int64_t step = 0;
  std::string file_version;
  std::int64_t session = 0;  // of a SessionLog: its status, 1 where a session starts
  std::map<std::string, float> scalars;
};

// All events of a file. Throws std::runtime_error for a checksum that is wrong, a record that is
// cut off, and a field that is not known.
std::vector<Event> read_events(const std::filesystem::path& file);

// What a viewer shows of a folder: by name, the values by step. Files are read in the order of
// their names; where a session starts, steps from its own on are forgotten.
using Series = std::map<std::string, std::vector<std::pair<std::int64_t, float>>>;
Series read_event_folder(const std::filesystem::path& folder);

}  // namespace lowtide::e2e
