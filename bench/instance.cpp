#include "instance.h"

#include <fstream>
#include <utility>

#include "core/check.h"
#include "core/json.h"
#include "core/text.h"

namespace lowtide::bench {

namespace {

using core::Json;
using plan::TaskId;
using plan::TensorId;

class Reader {
 public:
  explicit Reader(const Json& file) : file_(file), numbers_(file.at("tensors").size()) {}

  Instance read() {
    LT_CHECK(file_.at("format") == 1, "format 1");
    instance_.name = file_.at("name");
    instance_.persistent_bytes = file_.at("persistent_bytes");
    for (const Json& answer : file_.at("answers")) {
      instance_.budgets.push_back(answer.at("budget_bytes"));
    }
    read_tensors();
    for (const Json& node : file_.at("nodes")) read_node(node);
    set_deadlines();
    return std::move(instance_);
  }

 private:
  // Persistent tensors take no part in the search.
  void read_tensors() {
    for (const Json& tensor : file_.at("tensors")) {
      if (tensor.at("persistent")) continue;
      numbers_.at(tensor.at("id")) =
          instance_.problem.tensors.push_back({.bytes = tensor.at("bytes"), .producer = {}});
    }
  }

  std::vector<TensorId> tensors(const Json& ids) const {
    std::vector<TensorId> result;
    for (const Json& id : ids) {
      if (numbers_.at(id).valid()) result.push_back(numbers_.at(id));
    }
    return result;
  }

  void read_node(const Json& node) {
    plan::Task task{.variants = {}, .repeatable = node.at("recomputable"), .deadline = {}};
    const TaskId id(instance_.problem.tasks.size());
    for (const Json& variant : node.at("variants")) {
      plan::Variant way{.seconds = variant.at("seconds"),
                        .seconds_again = variant.value("replay_seconds", variant.at("seconds")),
                        .workspace = variant.at("workspace_bytes"),
                        .reads = tensors(variant.at("inputs")),
                        .writes = tensors(variant.at("outputs")),
                        .in_place = {}};
      for (const Json& pair : variant.value("inplace", Json::array())) {
        way.in_place.push_back({numbers_.at(pair.at(0)), numbers_.at(pair.at(1))});
      }
      for (const TensorId write : way.writes) instance_.problem.tensors[write].producer = id;
      task.variants.push_back(std::move(way));
    }
    instance_.problem.tasks.push_back(std::move(task));
  }

  // A node may run again until a weight it reads is updated.
  void set_deadlines() {
    const Json& nodes = file_.at("nodes");
    std::vector<TaskId> updated(numbers_.size());
    for (std::size_t i = nodes.size(); i-- > 0;) {
      for (const Json& weight : nodes[i].value("updates", Json::array())) {
        updated.at(weight) = TaskId(i);
      }
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      TaskId& deadline = instance_.problem.tasks[TaskId(i)].deadline;
      for (const Json& read : nodes[i].at("variants").at(0).at("inputs")) {
        const TaskId at = updated.at(read);
        if (at.valid() && (!deadline.valid() || at < deadline)) deadline = at;
      }
    }
  }

  const Json& file_;
  std::vector<TensorId> numbers_;  // by the file's tensor ids; invalid for persistent ones
  Instance instance_;
};

}  // namespace

Instance read_instance(const std::string& path) {
  std::ifstream stream(path);
  try {
    const Json file = Json::parse(stream);
    return Reader(file).read();
  } catch (const std::exception& error) {
    throw core::fail(ErrorCode::kInvalidArgument, "{}: {}", path, error.what());
  }
}

}  // namespace lowtide::bench
