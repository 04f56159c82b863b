// Reading plan files: anybody may have written them.
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "core/file.h"
#include "core/json.h"
#include "core/text.h"
#include "plan/file/names.h"
#include "plan/file/plan_file.h"

namespace lowtide::plan {

namespace {

// Not core::Json: looking a key up in that takes as long as there are keys.
using Json = nlohmann::json;

constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;  // sums of some do not overflow
constexpr std::int64_t kMostItems = std::numeric_limits<std::int32_t>::max() - 1;
constexpr Bytes kMostFile{std::int64_t{1} << 30};

// A part of the document and the way to it, for messages: "programs[0].steps[17]".
class Part {
 public:
  Part(const Json& json, const Part* parent, std::string_view key, std::size_t index)
      : json_(json), parent_(parent), key_(key), index_(index) {}

  [[nodiscard]] Part field(std::string_view key) const {
    if (!json_.is_object()) throw wrong("an object");
    const auto found = json_.find(key);
    if (found == json_.end()) {
      throw core::fail(ErrorCode::kInvalidFile, "{}has no field '{}'", before_message(), key);
    }
    return {*found, this, key, kNoIndex};
  }
  [[nodiscard]] bool has(std::string_view key) const {
    if (!json_.is_object()) throw wrong("an object");
    return json_.contains(key);
  }

  template <class F>
  void each(F&& f) const {
    if (!json_.is_array()) throw wrong("a list");
    if (json_.size() > static_cast<std::size_t>(kMostItems)) throw wrong("a shorter list");
    for (std::size_t i = 0; i < json_.size(); ++i) f(Part(json_[i], this, {}, i));
  }
  template <class F>
  void each_field(F&& f) const {
    if (!json_.is_object()) throw wrong("an object");
    for (const auto& [key, value] : json_.items()) f(key, Part(value, this, key, kNoIndex));
  }
  [[nodiscard]] bool list_of(std::size_t count) const {
    return json_.is_array() && json_.size() == count;
  }
  [[nodiscard]] Part item(std::size_t index) const { return {json_[index], this, {}, index}; }

  [[nodiscard]] std::int64_t integer(std::int64_t least, std::int64_t most) const {
    const auto expected = [&] { return core::text("a whole number from {} to {}", least, most); };
    if (!json_.is_number_integer()) throw wrong(expected());
    if (json_.is_number_unsigned() && json_.get<std::uint64_t>() > std::uint64_t{kMostBytes}) {
      throw wrong(expected());
    }
    const auto value = json_.get<std::int64_t>();
    if (value < least || value > most) throw wrong(expected());
    return value;
  }
  [[nodiscard]] std::int32_t count() const {
    return static_cast<std::int32_t>(integer(0, kMostItems));
  }
  [[nodiscard]] Bytes bytes() const { return Bytes(integer(0, kMostBytes)); }
  template <class Id>
  [[nodiscard]] Id id() const {
    return Id(static_cast<std::size_t>(count()));
  }
  [[nodiscard]] double seconds() const {
    const double value = json_.is_number() ? json_.get<double>() : -1;
    if (!std::isfinite(value) || value < 0) throw wrong("a number that is not negative");
    return value;
  }
  [[nodiscard]] bool truth() const {
    if (!json_.is_boolean()) throw wrong("true or false");
    return json_.get<bool>();
  }
  [[nodiscard]] std::string words() const {
    if (!json_.is_string()) throw wrong("a string");
    return json_.get<std::string>();
  }

  [[nodiscard]] Error wrong(const std::string& expected) const {
    std::string found = json_.is_primitive()
                            ? json_.dump(-1, ' ', false, Json::error_handler_t::replace)
                            : std::string(json_.type_name());
    if (found.size() > kMostShown) found = found.substr(0, kMostShown) + "...";
    return core::fail(ErrorCode::kInvalidFile, "{}expected {}, found {}", before_message(),
                      expected, found);
  }

 private:
  static constexpr std::size_t kNoIndex = ~std::size_t{0};
  static constexpr std::size_t kMostShown = 40;

  [[nodiscard]] std::string path() const {
    std::string way = parent_ == nullptr ? "" : parent_->path();
    if (index_ != kNoIndex) return way + core::text("[{}]", index_);
    return way.empty() ? std::string(key_) : core::text("{}.{}", way, key_);
  }
  [[nodiscard]] std::string before_message() const {
    const std::string way = path();
    return way.empty() ? "" : way + ": ";
  }

  const Json& json_;
  const Part* parent_;
  std::string_view key_;
  std::size_t index_;
};

template <class T, class F>
std::vector<T> list(const Part& part, F&& read) {
  std::vector<T> result;
  part.each([&](const Part& item) { result.push_back(read(item)); });
  return result;
}

FileValue read_value(const Part& part) {
  return {.name = part.field("name").words(),
          .type = part.field("type").words(),
          .role = part.field("role").words(),
          .bytes = part.field("bytes").bytes()};
}

std::vector<ValueId> read_ids(const Part& part) {
  return list<ValueId>(part, [](const Part& item) { return item.id<ValueId>(); });
}

FileNode read_node(const Part& part) {
  return {.name = part.field("name").words(),
          .op = part.field("op").words(),
          .phase = part.field("phase").words(),
          .kernel = part.field("kernel").words(),
          .seconds = part.field("seconds").seconds(),
          .in = read_ids(part.field("in")),
          .out = read_ids(part.field("out"))};
}

Buffer read_buffer(const Part& part) {
  const Part kind_part = part.field("kind");
  const std::optional<BufferKind> kind = buffer_kind(kind_part.words());
  if (!kind) throw kind_part.wrong("persistent, transient or scratch");
  Buffer buffer{.kind = *kind,
                .value = {},
                .size = part.field("size").bytes(),
                .offset = part.field("offset").bytes(),
                .first = part.field("first").count(),
                .last = part.field("last").count()};
  if (part.has("value")) buffer.value = part.field("value").id<ValueId>();
  return buffer;
}

Place read_place(const Part& part) {
  if (!part.list_of(2)) return {part.id<BufferId>(), Bytes(0)};
  return {part.item(0).id<BufferId>(), part.item(1).bytes()};
}

Step read_step(const Part& part) {
  Step step{.node = part.field("node").id<NodeId>(),
            .again = part.has("again") && part.field("again").truth(),
            .in = list<Place>(part.field("in"), read_place),
            .out = list<Place>(part.field("out"), read_place),
            .scratch = {}};
  if (part.has("scratch")) step.scratch = part.field("scratch").id<BufferId>();
  return step;
}

Slot read_slot(const Part& part) {
  return {.value = part.field("value").id<ValueId>(),
          .offset = part.field("offset").bytes(),
          .size = part.field("size").bytes()};
}

Transfer read_transfer(const Part& part) {
  const Part direction_part = part.field("direction");
  const std::optional<Direction> where = direction(direction_part.words());
  if (!where) throw direction_part.wrong("store or fetch");
  return {.direction = *where,
          .value = part.field("value").id<ValueId>(),
          .place = {part.field("buffer").id<BufferId>(), part.field("within").bytes()},
          .slot = part.field("slot").id<SlotId>(),
          .start = part.field("start").count(),
          .finish = part.field("finish").count()};
}

Policy read_policy(const Part& part) {
  try {
    return parse_policy(part.words());
  } catch (const Error&) {
    throw part.wrong("the name of a policy");
  }
}

Plan read_plan(const Part& part) {
  Plan plan{.policy = read_policy(part.field("policy")),
            .steps = list<Step>(part.field("steps"), read_step),
            .buffers = {},
            .arena_bytes = part.field("arena_bytes").bytes(),
            .peak_live_bytes = part.field("peak_live_bytes").bytes(),
            .peak_step = part.field("peak_step").count(),
            .predicted_seconds = part.field("predicted_seconds").seconds(),
            .lower_bound_seconds = part.field("lower_bound_seconds").seconds(),
            .kept = part.field("kept").count(),
            .recomputed = part.field("recomputed").count(),
            .transfers = list<Transfer>(part.field("transfers"), read_transfer),
            .slots = {},
            .spill_bytes = part.field("spill_bytes").bytes(),
            .rates = {part.field("store_bytes_per_second").seconds(),
                      part.field("fetch_bytes_per_second").seconds()},
            .stall_seconds = part.field("stall_seconds").seconds()};
  part.field("buffers").each([&](const Part& item) { plan.buffers.push_back(read_buffer(item)); });
  part.field("slots").each([&](const Part& item) { plan.slots.push_back(read_slot(item)); });
  if (!plan.steps.empty() && plan.peak_step >= static_cast<std::int32_t>(plan.steps.size())) {
    throw part.field("peak_step").wrong("the number of a step");
  }
  return plan;
}

FileProgram read_program(const Part& part) {
  return {.purpose = part.field("purpose").words(),
          .samples = part.field("samples").integer(0, kMostBytes),
          .digest = part.field("digest").words(),
          .values = list<FileValue>(part.field("values"), read_value),
          .nodes = list<FileNode>(part.field("nodes"), read_node),
          .plan = read_plan(part)};
}

FileState read_state(const Part& part) {
  return {.name = part.field("name").words(),
          .bytes = part.field("bytes").bytes(),
          .in_file = part.field("in_file").truth(),
          .offset = part.field("offset").bytes()};
}

PlanFile read_document(const Json& json) {
  const Part root(json, nullptr, {}, ~std::size_t{0});
  if (root.field("format").words() != "lowtide plan") {
    throw root.field("format").wrong("\"lowtide plan\"");
  }
  if (root.field("version").count() != 1) throw root.field("version").wrong("1");
  PlanFile file{.settings = {},
                .costs = root.field("costs").words(),
                .budget = root.field("budget_bytes").bytes(),
                .runtime = root.field("runtime_bytes").bytes(),
                .state = list<FileState>(root.field("state"), read_state),
                .programs = list<FileProgram>(root.field("programs"), read_program)};
  root.field("settings").each_field([&](const std::string& option, const Part& value) {
    file.settings.emplace_back(option, value.words());
  });
  return file;
}

}  // namespace

PlanFile parse_plan_file(std::string_view text, const std::string& name) {
  try {
    return read_document(Json::parse(text));
  } catch (const Json::parse_error& error) {
    throw core::fail(ErrorCode::kInvalidFile, "{}: is not JSON: at byte {}", name, error.byte);
  } catch (const Json::exception&) {  // a number beyond all bounds
    throw core::fail(ErrorCode::kInvalidFile, "{}: holds a number that is out of range", name);
  } catch (const Error& error) {
    throw error.within(name);
  }
}

PlanFile read_plan_file(const std::filesystem::path& path) {
  const core::File file = core::File::open(path);
  const Bytes size = file.size();
  if (size > kMostFile) {
    throw core::fail(ErrorCode::kInvalidFile, "{}: has {}, no plan is larger than {}",
                     path.string(), size.str(), kMostFile.str());
  }
  std::string text(static_cast<std::size_t>(size.count()), '\0');
  file.read_at(Bytes(0), std::as_writable_bytes(std::span(text)));
  return parse_plan_file(text, path.string());
}

}  // namespace lowtide::plan
