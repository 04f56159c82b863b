#include "cli/options.h"

#include <cstdlib>
#include <system_error>

#include "lowtide/error.h"
#include "lowtide/npy.h"

#include "cli/values.h"

namespace lowtide::cli {
namespace {

// An option whose text becomes a value of another type by `set`, which may throw lowtide::Error.
template <class F>
CLI::Option* add_parsed(CLI::App& command,
                        const std::string& name,
                        F set,
                        const std::string& help,
                        const std::string& type) {
  return command
      .add_option_function<std::string>(
          name,
          [set](const std::string& text) {
            try {
              set(text);
            } catch (const Error& error) {
              throw CLI::ValidationError(error.what());
            }
          },
          help)
      ->type_name(type);
}

// NAME=D,D,... with an optional scalar: NAME= .
std::pair<std::string, std::vector<std::int64_t>> parse_shape(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error(ErrorCode::kInvalidArgument, "'" + text + "' is not NAME=D,D,...");
  }
  std::vector<std::int64_t> dims;
  std::string part;
  for (const char c : text.substr(equals + 1) + ",") {
    if (c != ',') {
      part += c;
      continue;
    }
    if (part.empty()) continue;
    std::size_t used = 0;
    std::int64_t dim = -1;
    try {
      dim = std::stoll(part, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used != part.size() || dim < 0) {
      throw Error(ErrorCode::kInvalidArgument, "'" + part + "' in '" + text + "' is no dimension");
    }
    dims.push_back(dim);
    part.clear();
  }
  return {text.substr(0, equals), dims};
}

// $XDG_CACHE_HOME/lowtide/costs.json, by default in ~/.cache; none where there is no such place.
std::filesystem::path default_cost_cache() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  std::filesystem::path folder;
  if (cache != nullptr && *cache != '\0') {
    folder = cache;
  } else if (home != nullptr && *home != '\0') {
    folder = std::filesystem::path(home) / ".cache";
  }
  std::error_code error;
  const bool there = std::filesystem::is_directory(folder, error);
  const bool can_be = !std::filesystem::exists(folder, error) &&
                      std::filesystem::is_directory(folder.parent_path(), error);
  if (folder.is_relative() || !(there || can_be)) return {};
  return folder / "lowtide" / "costs.json";
}

// GLOB=X.
DropoutSettings parse_dropout(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  std::size_t used = 0;
  double ratio = 0;
  if (equals != std::string::npos && equals > 0) {
    try {
      ratio = std::stod(text.substr(equals + 1), &used);
    } catch (const std::exception&) {
      used = 0;
    }
  }
  if (used == 0 || equals + 1 + used != text.size()) {
    throw CLI::ValidationError("--dropout", "'" + text + "' is not GLOB=X");
  }
  return {text.substr(0, equals), ratio};
}

}  // namespace

void add_model(CLI::App& command, ModelSettings& model, RawModel& raw) {
  command.add_option("model", model.path, "The ONNX file")->required()->type_name("MODEL.onnx");
  repeatable(command
                 .add_option("--shape", raw.shapes,
                             "The shape of an input whose dimensions the file leaves open")
                 ->type_name("NAME=D,D,..."));
}

void add_loss(CLI::App& command, LossSettings& loss, RawLoss& raw) {
  CLI::Option_group* const group = command.add_option_group("Loss");
  add_choice<LossKind>(*group, "--loss", loss.kind,
                       {{"auto", LossKind::kAuto},
                        {"cross-entropy", LossKind::kCrossEntropy},
                        {"mse", LossKind::kMeanSquaredError},
                        {"l1", LossKind::kMeanAbsoluteError},
                        {"huber", LossKind::kHuber},
                        {"bce", LossKind::kProbabilityBinaryCrossEntropy},
                        {"bce-with-logits", LossKind::kBinaryCrossEntropy}},
                       "auto: cross-entropy for integer labels, mse for float ones");
  group
      ->add_option("--huber-delta", loss.huber_delta,
                   "The error from which huber grows with its magnitude, not its square")
      ->capture_default_str()
      ->check(positive())
      ->type_name("X");
  group->add_option("--pos-weight", loss.positive_weight, "Weight of targets of 1 in bce")
      ->capture_default_str()
      ->check(positive())
      ->type_name("X");
  group->add_option("--ignore-index", loss.ignore_index, "A label that counts for nothing")
      ->type_name("N");
  group
      ->add_option("--label-smoothing", loss.label_smoothing,
                   "The share of the target spread over all classes")
      ->capture_default_str()
      ->check(between(0.0, 1.0))
      ->type_name("X");
  group->add_option("--class-weights", raw.class_weights, "One float per class")
      ->type_name("FILE.npy");
}

void add_optimizer(CLI::App& command, OptimizerSettings& optimizer) {
  CLI::Option_group* const group = command.add_option_group("Optimizer");
  add_choice<OptimizerKind>(*group, "--optimizer", optimizer.kind,
                            {{"sgd", OptimizerKind::kSgd},
                             {"adam", OptimizerKind::kAdam},
                             {"adamw", OptimizerKind::kAdamW}},
                            "The update rule, as PyTorch defines it");
  group->add_option("--lr", optimizer.lr, "Learning rate")
      ->capture_default_str()
      ->check(non_negative())
      ->type_name("X");
  group->add_option("--momentum", optimizer.momentum, "Of sgd")
      ->capture_default_str()
      ->check(non_negative())
      ->type_name("X");
  group->add_flag("--nesterov", optimizer.nesterov, "Nesterov's momentum");
  group->add_option("--weight-decay", optimizer.weight_decay, "Decay of every trained tensor")
      ->capture_default_str()
      ->check(non_negative())
      ->type_name("X");
  group->add_option("--betas", optimizer.betas, "Of adam and adamw")
      ->delimiter(',')
      ->default_str(fmt::format("{}", fmt::join(optimizer.betas, ",")))
      ->type_name("A,B");
  group->add_option("--eps", optimizer.eps, "Of adam and adamw")
      ->capture_default_str()
      ->check(non_negative())
      ->type_name("X");
  repeatable(group
                 ->add_option("--no-decay", optimizer.no_decay,
                              "Tensors without decay, by name; may repeat")
                 ->type_name("GLOB"));
  group->add_option("--clip-norm", optimizer.clip_norm, "Largest global norm of the gradients")
      ->check(positive())
      ->type_name("X");
  group
      ->add_option("--ema", optimizer.ema,
                   "Write a running mean of the weights, of which each step keeps this share")
      ->check(between(0.0, 1.0))
      ->type_name("X");
}

void add_schedule(CLI::App& command, Schedule& schedule) {
  CLI::Option_group* const group = command.add_option_group("Schedule");
  add_choice<ScheduleKind>(*group, "--schedule", schedule.kind,
                           {{"constant", ScheduleKind::kConstant},
                            {"cosine", ScheduleKind::kCosine},
                            {"linear", ScheduleKind::kLinear},
                            {"step", ScheduleKind::kStep},
                            {"one-cycle", ScheduleKind::kOneCycle}},
                           "How the learning rate moves");
  group->add_option("--warmup", schedule.warmup, "Steps of linear rise at the start")
      ->capture_default_str()
      ->check(non_negative())
      ->type_name("N");
  group->add_option("--min-lr", schedule.min_lr, "Where cosine and linear end")
      ->capture_default_str()
      ->check(non_negative())
      ->type_name("X");
  group->add_option("--step-size", schedule.step_size, "Steps between drops")
      ->capture_default_str()
      ->check(positive())
      ->type_name("N");
  group->add_option("--gamma", schedule.gamma, "Factor of each drop")
      ->capture_default_str()
      ->check(non_negative())
      ->type_name("X");
  group->add_option("--pct-start", schedule.pct_start, "The share of one-cycle that rises to --lr")
      ->capture_default_str()
      ->check(between(0.0, 1.0))
      ->type_name("X");
  group->add_option("--div-factor", schedule.div_factor, "One-cycle begins at --lr divided by this")
      ->capture_default_str()
      ->check(positive())
      ->type_name("X");
  group
      ->add_option("--final-div-factor", schedule.final_div_factor,
                   "And ends at its beginning divided by this")
      ->capture_default_str()
      ->check(positive())
      ->type_name("X");
  group->add_flag("--cycle-momentum,!--no-cycle-momentum", schedule.cycle_momentum,
                  "One-cycle also moves the momentum, or Adam's first beta, against the rate (the "
                  "default)");
  const auto share = between(1e-9, 1 - 1e-9);
  group->add_option("--base-momentum", schedule.base_momentum, "Where the rate is highest")
      ->capture_default_str()
      ->check(share)
      ->type_name("X");
  group->add_option("--max-momentum", schedule.max_momentum, "Where one-cycle begins and ends")
      ->capture_default_str()
      ->check(share)
      ->type_name("X");
}

void add_selection(CLI::App& command, SelectionSettings& selection) {
  CLI::Option_group* const group = command.add_option_group("What is trained");
  repeatable(group
                 ->add_option("--train", selection.train,
                              "Train exactly these tensors, by name; may repeat (see `inspect`)")
                 ->type_name("GLOB"));
  repeatable(group->add_option("--freeze", selection.freeze, "Leave these as they are; may repeat")
                 ->type_name("GLOB"));
}

void add_dropout(CLI::App& command, std::vector<DropoutSettings>& dropout) {
  repeatable(command
                 .add_option_function<std::vector<std::string>>(
                     "--dropout",
                     [&dropout](const std::vector<std::string>& rules) {
                       for (const std::string& rule : rules) dropout.push_back(parse_dropout(rule));
                     },
                     "Drop these values, by their own or their node's name, with ratio X while "
                     "training; may "
                     "repeat")
                 ->type_name("GLOB=X"));
}

void add_budget(CLI::App& command, MemorySettings& memory) {
  add_parsed(
      command, "--budget",
      [&memory](const std::string& text) {
        if (text != "auto") memory.budget = Bytes::parse(text);
      },
      "Bound on the resident memory of the whole process: bytes, or 300MB, 512MiB, 1.5GiB; auto: "
      "the container's limit, else what is free",
      "BYTES|auto")
      ->default_str("auto");
}

void add_planning(CLI::App& command, MemorySettings& memory) {
  add_parsed(
      command, "--micro-batch",
      [&memory](const std::string& text) {
        memory.micro_batch = text == "auto" ? 0 : Bytes::parse(text).count();
      },
      "Samples per pass; auto: as many as fit, never splitting batch statistics", "N|auto")
      ->default_str("auto");
  CLI::Option* const spill =
      command
          .add_option("--spill", memory.spill,
                      "Move tensors that are not needed for a while, weights and optimizer state "
                      "included, to a nameless file in this folder")
          ->type_name("DIR");
  add_parsed(
      command, "--spill-limit",
      [&memory](const std::string& text) { memory.spill_limit = Bytes::parse(text); },
      "Bound on the size of that file; default: what is free", "BYTES")
      ->needs(spill);
  add_name(command, "--policy", memory.policy,
           {"lowtide", "keep", "chen", "no-bn", "residual-1", "residual-2", "superneurons", "dtr"},
           "How memory is planned: by lowtide, or a baseline");
  add_name(command, "--costs", memory.costs, {"auto", "model", "measured"},
           "Times that planning weighs: of a model of the machine, or measured by running each "
           "kernel; auto: measured if cached, for train also if that takes seconds");
  memory.cost_cache = default_cost_cache();
  command
      .add_option("--cost-cache", memory.cost_cache,
                  "The file that keeps measured times; '' for none")
      ->capture_default_str()
      ->type_name("FILE");
}

void add_machine(CLI::App& command, MachineSettings& machine) {
  CLI::Option_group* const group = command.add_option_group("Machine");
  group->add_option("--threads", machine.threads, "Default: the CPUs this process may use")
      ->check(non_negative())
      ->type_name("N");
  add_name(*group, "--isa", machine.isa, {"native", "avx512", "avx2", "reference"},
           "Instruction set to hold everything to");
}

void add_checkpoint(CLI::App& command, CheckpointSettings& checkpoint) {
  CLI::Option_group* const group = command.add_option_group("Checkpoints");
  CLI::Option* const file =
      group
          ->add_option("--checkpoint", checkpoint.file,
                       "Save here what it takes to go on: now and then, at the end, and on Ctrl-C")
          ->type_name("FILE");
  group
      ->add_option("--checkpoint-every", checkpoint.every,
                   "Steps between checkpoints; default: one at the end of each epoch")
      ->check(positive())
      ->needs(file)
      ->type_name("N");
  group
      ->add_option("--keep-checkpoints", checkpoint.keep,
                   "The newest and the ones before it, as FILE.1, FILE.2, ...")
      ->check(between(1, 10))
      ->capture_default_str()
      ->type_name("K");
  group
      ->add_option("--resume", checkpoint.resume,
                   "Go on from this checkpoint, as if the run had never stopped; the same as "
                   "--checkpoint and not there yet: begin")
      ->type_name("FILE");
}

CLI::Option* add_training(CLI::App& command,
                          TrainSettings& settings,
                          RawModel& model,
                          RawLoss& loss) {
  add_model(command, settings.model, model);
  command.add_option("--output", settings.model.output, "The model output that the loss reads")
      ->type_name("NAME");
  add_budget(command, settings.memory);
  add_planning(command, settings.memory);
  CLI::Option* const source = add_data(command, settings.data);
  CLI::Option* const epochs = command.add_option("--epochs", settings.epochs, "Default: 1")
                                  ->check(non_negative())
                                  ->type_name("N");
  command.add_option("--steps", settings.steps, "Optimizer updates in total")
      ->check(non_negative())
      ->excludes(epochs)
      ->type_name("N");
  command.add_flag("--shuffle,!--no-shuffle", settings.data.shuffle,
                   "A new order of the samples each epoch (the default)");
  command.add_flag("--drop-last", settings.data.drop_last, "Leave out a short last batch");
  command.add_option("--seed", settings.seed, "Of shuffling, augmentation and dropout")
      ->capture_default_str()
      ->check(whole_number())
      ->type_name("N");
  add_loss(command, settings.loss, loss);
  add_optimizer(command, settings.optimizer);
  add_schedule(command, settings.schedule);
  add_selection(command, settings.selection);
  add_dropout(command, settings.dropout);
  add_choice<RunningStatistics>(
      command, "--running-stats", settings.running_statistics,
      {{"pytorch", RunningStatistics::kPyTorch}, {"onnx", RunningStatistics::kOnnx}},
      "Running variance from the batch variance divided by n - 1 (pytorch) or n (onnx)");
  command.add_flag(
      "--detect-anomaly", settings.detect_anomaly,
      "Check each step before its updates; where a number is not finite, name the node "
      "that made the first one");
  command.add_flag("--step-metrics", settings.step_metrics,
                   "Tell top-5 accuracy and mean absolute error of each step's batch, too");
  add_checkpoint(command, settings.checkpoint);
  add_machine(command, settings.machine);
  return source;
}

void finish(const RawModel& raw, ModelSettings& model) {
  for (const std::string& text : raw.shapes) {
    const auto [name, dims] = parse_shape(text);
    if (model.shapes.emplace(name, dims).second) continue;
    throw Error(ErrorCode::kInvalidArgument, "--shape is given twice for '" + name + "'");
  }
}

void finish(const RawLoss& raw, LossSettings& loss) {
  if (!raw.class_weights.empty()) loss.class_weights = read_npy_floats(raw.class_weights);
}

}  // namespace lowtide::cli
