#include "e2e/surface/event_files.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "support/folder.h"

namespace lowtide::e2e {
namespace {

// CRC-32C bit by bit, then TensorFlow's mask.
std::uint32_t masked_crc(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char byte : bytes) {
    crc ^= static_cast<std::uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0x82F63B78U : 0U);
  }
  crc = ~crc;
  return ((crc >> 15U) | (crc << 17U)) + 0xA282EAD8U;
}

// Takes what it reads off the front.
class Front {
 public:
  explicit Front(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool empty() const { return bytes_.empty(); }

  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size()) throw std::runtime_error("cut off");
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

  template <class T>
  T fixed() {
    T value = 0;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(take(1)[0]);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
  }

 private:
  std::string_view bytes_;
};

[[noreturn]] void unknown(const char* message, std::uint64_t tag) {
  throw std::runtime_error(std::string("unknown field in ") + message + ": " + std::to_string(tag));
}

void read_value(std::string_view bytes, Event& event) {
  Front value(bytes);
  std::string tag;
  float number = 0;
  while (!value.empty()) {
    switch (const std::uint64_t key = value.varint()) {
      case 1U << 3U | 2U: tag = value.take(value.varint()); break;
      case 2U << 3U | 5U: number = value.fixed<float>(); break;
      default: unknown("Value", key);
    }
  }
  if (!event.scalars.emplace(tag, number).second) throw std::runtime_error("twice: " + tag);
}

Event read_event(std::string_view bytes) {
  Event event;
  Front message(bytes);
  while (!message.empty()) {
    switch (const std::uint64_t key = message.varint()) {
      case 1U << 3U | 1U: event.wall_time = message.fixed<double>(); break;
      case 2U << 3U | 0U: event.step = static_cast<std::int64_t>(message.varint()); break;
      case 3U << 3U | 2U: event.file_version = message.take(message.varint()); break;
      case 5U << 3U | 2U: {
        Front summary(message.take(message.varint()));
        while (!summary.empty()) {
          if (const std::uint64_t inner = summary.varint(); inner != (1U << 3U | 2U)) {
            unknown("Summary", inner);
          }
          read_value(summary.take(summary.varint()), event);
        }
        break;
      }
      case 7U << 3U | 2U: {
        Front session(message.take(message.varint()));
        if (const std::uint64_t inner = session.varint(); inner != (1U << 3U | 0U)) {
          unknown("SessionLog", inner);
        }
        event.session = static_cast<std::int64_t>(session.varint());
        break;
      }
      default: unknown("Event", key);
    }
  }
  return event;
}

}  // namespace

std::vector<Event> read_events(const std::filesystem::path& file) {
  const std::string bytes = support::read_file(file);
  std::vector<Event> events;
  for (Front records(bytes); !records.empty();) {
    const std::string_view length_bytes = records.take(sizeof(std::uint64_t));
    if (records.fixed<std::uint32_t>() != masked_crc(length_bytes)) {
      throw std::runtime_error("a length's checksum");
    }
    const std::string_view event = records.take(Front(length_bytes).fixed<std::uint64_t>());
    if (records.fixed<std::uint32_t>() != masked_crc(event)) {
      throw std::runtime_error("an event's checksum");
    }
    events.push_back(read_event(event));
  }
  return events;
}

Series read_event_folder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().find("tfevents") == std::string::npos) continue;
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  Series series;
  for (const std::filesystem::path& file : files) {
    for (const Event& event : read_events(file)) {
      if (event.session == 1) {
        for (auto& [name, values] : series) {
          std::erase_if(values, [&](const auto& value) { return value.first >= event.step; });
        }
      }
      for (const auto& [name, value] : event.scalars) {
        series[name].emplace_back(event.step, value);
      }
    }
  }
  return series;
}

}  // namespace lowtide::e2e
