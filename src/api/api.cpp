// The public functions and classes, each a call into the spine that does the work.
#include <sstream>
#include <utility>

#include "lowtide/lowtide.h"
#include "lowtide/npy.h"

#include "data/format/npy.h"
#include "memory/resident.h"
#include "onnx/write.h"
#include "serve/generation.h"
#include "serve/inference.h"
#include "train/evaluation.h"
#include "train/inspection.h"
#include "train/training_run.h"
#include "zoo/zoo.h"

namespace lowtide {

class Trainer::Session {
 public:
  explicit Session(const TrainSettings& settings) : run(settings) { run.prepare(); }

  train::TrainingRun run;
};

Trainer::Trainer(const TrainSettings& settings) : session_(std::make_unique<Session>(settings)) {}
Trainer::Trainer(Trainer&& other) noexcept = default;
Trainer& Trainer::operator=(Trainer&& other) noexcept = default;
Trainer::~Trainer() = default;

const PlanReport& Trainer::plan() const { return session_->run.plan(); }
std::int64_t Trainer::total_steps() const { return session_->run.total_steps(); }
std::int64_t Trainer::steps_done() const { return session_->run.steps_done(); }
StepReport Trainer::step() { return session_->run.step(); }
EvalReport Trainer::validate() { return session_->run.validate(); }
const Standing& Trainer::standing() const { return session_->run.standing(); }
TraceReport Trainer::trace() const { return session_->run.trace(); }
void Trainer::save(const std::filesystem::path& path) const { session_->run.save(path); }
void Trainer::save_checkpoint(const std::filesystem::path& path, int keep) {
  session_->run.save_checkpoint(path, keep);
}

void Trainer::write_plan(std::ostream& stream) const { session_->run.write_plan(stream); }

PlanReport plan_training(const TrainSettings& settings, const PlanQuestions& questions) {
  train::TrainingRun run(settings);
  run.measure_if_asked();
  run.answer(questions);
  PlanReport report = run.plan();
  if (report.fits) {
    std::ostringstream stream;
    run.write_plan(stream);
    report.plan_json = std::move(stream).str();
  }
  return report;
}

Bytes peak_resident() { return memory::peak_resident_bytes(); }

EvalReport evaluate_model(const EvalSettings& settings) { return train::evaluate(settings); }

std::vector<OutputSummary> run_model(const RunSettings& settings) { return serve::run(settings); }

void generate_tokens(const GenerateSettings& settings,
                     const std::function<void(std::int64_t)>& take) {
  serve::generate(settings, take);
}

ModelReport inspect_model(const ModelSettings& model,
                          std::int64_t batch,
                          const SelectionSettings& selection) {
  return train::inspect(model, batch, selection);
}

std::vector<float> read_npy_floats(const std::filesystem::path& path) {
  const data::StoredArray array = data::open_npy(data::ByteSource::open(path));
  return core::visit(array.dtype, [&](auto tag) -> std::vector<float> {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, bool>) {
      throw Error(ErrorCode::kInvalidArgument, path.string() + ": holds bool, numbers are needed");
    } else {
      std::vector<T> elements(static_cast<std::size_t>(array.shape.elements()));
      array.read(0, std::as_writable_bytes(std::span(elements)));
      return {elements.begin(), elements.end()};
    }
  });
}

std::vector<ZooNetwork> zoo_networks() { return zoo::networks(); }
std::vector<std::string> zoo_names() { return zoo::names(); }

std::int64_t write_zoo(const ZooSettings& settings, const std::filesystem::path& path) {
  const graph::Graph graph = zoo::build(settings);
  onnx::write_graph(graph, path, {.output_names = {"logits"}});
  return zoo::parameters(graph);
}

}  // namespace lowtide
