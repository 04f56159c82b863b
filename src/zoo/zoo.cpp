#include "zoo/zoo.h"

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <variant>

#include "core/text.h"
#include "zoo/networks/networks.h"

namespace lowtide::zoo {
namespace {

using core::fail;
using core::text;

using Integer = std::int64_t ZooSettings::*;
using Member = std::variant<Integer,
                            bool ZooSettings::*,
                            std::string ZooSettings::*,
                            std::vector<std::int64_t> ZooSettings::*>;

struct Option {
  std::string_view name;
  Member member;
  std::int64_t usual = 0;
  std::string_view meaning = {};
  std::string_view usual_text = {};  // where the usual value is no number
};

struct Entry {
  std::string_view name;
  std::string_view about;
  std::vector<Option> options;
  graph::Graph (*build)(const ZooSettings&);
};

Option depth(std::int64_t usual, std::string_view meaning) {
  return {"depth", &ZooSettings::depth, usual, meaning};
}
Option width(std::int64_t usual, std::string_view meaning) {
  return {"width", &ZooSettings::width, usual, meaning};
}
Option blocks(std::string_view meaning) { return {"blocks", &ZooSettings::blocks, 0, meaning}; }
Option heads() { return {"heads", &ZooSettings::heads, 0, "of attention", "width / 64"}; }
Option vocabulary(std::int64_t usual) {
  return {"vocabulary", &ZooSettings::vocabulary, usual, "tokens that there are"};
}
Option sequence(std::int64_t usual) {
  return {"sequence", &ZooSettings::sequence, usual, "tokens of a sample"};
}
Option classes(std::int64_t usual) { return {"classes", &ZooSettings::classes, usual, "outputs"}; }

// What every network of images takes.
std::vector<Option> with_image(std::int64_t class_count,
                               std::int64_t size,
                               std::string_view size_meaning,
                               std::vector<Option> options) {
  options.push_back(classes(class_count));
  options.push_back({"channels", &ZooSettings::channels, 3, "of the image"});
  options.push_back({"size", &ZooSettings::size, size, size_meaning});
  return options;
}

constexpr std::string_view kAnySize = "height and width of the image";

std::vector<Entry> image_networks() {
  return {
      {"mlp", "three linear layers on a flattened image",
       with_image(10, 28, kAnySize, {width(128, "hidden units")}), build_mlp},
      {"lenet", "LeNet-5 (LeCun et al. 1998) with ReLU and max pooling",
       with_image(10, 28, "height and width of the image, from 12 on", {}), build_lenet},
      {"alexnet", "AlexNet (Krizhevsky 2014), without its dropout",
       with_image(1000, 224, "height and width of the image, from 63 on",
                  {width(4096, "units of the two hidden layers")}),
       build_alexnet},
      {"vgg", "VGG (Simonyan and Zisserman 2014), without its dropout",
       with_image(1000, 224, "height and width of the image, from 32 on",
                  {depth(16, "11, 13, 16 or 19"),
                   width(4096, "units of the two hidden layers"),
                   {"batch-norm", &ZooSettings::batch_norm, 0, "after each convolution"}}),
       build_vgg},
      {"resnet", "ResNet (He et al. 2015), ResNeXt (Xie et al. 2016)",
       with_image(1000, 224, kAnySize,
                  {depth(50, "18, 34, 50, 101, 152; any 2 n + 2 below 50, 3 n + 2 from 50 on"),
                   blocks("of the four stages, instead of a depth"),
                   {"block", &ZooSettings::block, 0, "basic or bottleneck", "basic below depth 50"},
                   {"groups", &ZooSettings::groups, 1, "of a bottleneck's 3x3 convolution"},
                   {"group-width", &ZooSettings::group_width, 64,
                    "channels of a group in the first stage"}}),
       build_resnet},
      {"wrn", "Wide ResNet (Zagoruyko and Komodakis 2016)",
       with_image(10, 32, kAnySize, {depth(28, "6 n + 4"), width(2, "widening factor")}),
       build_wrn},
      {"densenet", "DenseNet (Huang et al. 2016)",
       with_image(1000, 224, kAnySize,
                  {depth(121, "121, 161 (with growth 48), 169, 201 or 264"),
                   blocks("layers of each block, instead of a depth"),
                   {"growth", &ZooSettings::growth, 32, "channels that a layer adds"}}),
       build_densenet},
      {"inception", "Inception v4 (Szegedy et al. 2016), without its dropout",
       with_image(1000, 299, "height and width of the image, from 75 on",
                  {{"blocks", &ZooSettings::blocks, 0, "modules of the kinds A, B and C", "4,7,3"},
                   width(100, "percent of the published channels")}),
       build_inception},
      {"mobilenet", "MobileNet v2 (Sandler et al. 2018), without its dropout",
       with_image(1000, 224, kAnySize, {width(100, "percent of the published channels")}),
       build_mobilenet},
      {"unet", "U-Net (Ronneberger et al. 2015) with batch norm; a class for every pixel",
       with_image(
           2, 256, "height and width of the image, a multiple of 2^depth",
           {depth(4, "times that the image is halved"), width(64, "channels of the first level")}),
       build_unet},
  };
}

std::vector<Entry> transformers() {
  return {
      {"gpt2",
       "GPT-2 (Radford et al. 2019), without its dropout; logits of every next token",
       {depth(12, "blocks"), width(768, "of the residual stream"), heads(), vocabulary(50257),
        sequence(1024)},
       build_gpt2},
      {"bert",
       "BERT (Devlin et al. 2018) that classifies, without its dropout; token 0 is padding",
       {depth(12, "blocks"), width(768, "of the residual stream"), heads(), vocabulary(30522),
        sequence(512), classes(2)},
       build_bert},
      {"vit", "Vision Transformer (Dosovitskiy et al. 2020)",
       with_image(1000, 224, kAnySize,
                  {depth(12, "blocks"),
                   width(768, "of the residual stream"),
                   heads(),
                   {"patch", &ZooSettings::patch, 16, "height and width of what becomes a token"}}),
       build_vit},
  };
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = [] {
    std::vector<Entry> result = image_networks();
    for (const Entry& entry : transformers()) result.push_back(entry);
    return result;
  }();
  return all;
}

const Entry& entry_of(const std::string& name) {
  const auto found = std::find_if(entries().begin(), entries().end(),
                                  [&](const Entry& entry) { return entry.name == name; });
  if (found == entries().end()) {
    throw fail(ErrorCode::kInvalidArgument, "'{}' is not in the zoo; there are: {}", name,
               fmt::join(names(), ", "));
  }
  return *found;
}

bool is_given(const ZooSettings& settings, const Member& member) {
  return std::visit(
      [&](auto pointer) {
        return settings.*pointer != std::remove_cvref_t<decltype(settings.*pointer)>{};
      },
      member);
}

// Options of other networks, which would go unheard.
void refuse_others(const Entry& entry, const ZooSettings& settings) {
  const auto takes = [&](const Member& member) {
    return std::any_of(entry.options.begin(), entry.options.end(),
                       [&](const Option& option) { return option.member == member; });
  };
  for (const Entry& other : entries()) {
    for (const Option& option : other.options) {
      if (!is_given(settings, option.member) || takes(option.member)) continue;
      std::vector<std::string_view> names;
      for (const Option& own : entry.options) names.push_back(own.name);
      throw fail(ErrorCode::kInvalidArgument, "{} has no {}; it takes {}", entry.name, option.name,
                 fmt::join(names, ", "));
    }
  }
}

// Usual values where nothing was given. Blocks stand for a depth.
ZooSettings complete(const Entry& entry, ZooSettings settings) {
  for (const Option& option : entry.options) {
    const auto* const member = std::get_if<Integer>(&option.member);
    if (member == nullptr) continue;
    std::int64_t& value = settings.**member;
    if (value < 0) throw fail(ErrorCode::kInvalidArgument, "{} is {}", option.name, value);
    const bool instead = *member == &ZooSettings::depth && !settings.blocks.empty();
    if (value == 0 && !instead) value = option.usual;
  }
  if (settings.heads == 0) settings.heads = std::max<std::int64_t>(settings.width / 64, 1);
  return settings;
}

std::string usual_text(const Option& option) {
  if (!option.usual_text.empty() || option.usual == 0) return std::string(option.usual_text);
  return text("{}", option.usual);
}

bool is_statistic(std::string_view name) {
  return name.find(".running_") != std::string_view::npos;
}

}  // namespace

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const Entry& entry : entries()) result.emplace_back(entry.name);
  return result;
}

std::vector<ZooNetwork> networks() {
  std::vector<ZooNetwork> result;
  for (const Entry& entry : entries()) {
    ZooNetwork network{.name = std::string(entry.name), .about = std::string(entry.about)};
    for (const Option& option : entry.options) {
      network.options.push_back(
          {std::string(option.name), usual_text(option), std::string(option.meaning)});
    }
    network.parameters = parameters(build({.name = network.name}));
    result.push_back(std::move(network));
  }
  return result;
}

graph::Graph build(const ZooSettings& settings) {
  const Entry& entry = entry_of(settings.name);
  refuse_others(entry, settings);
  return entry.build(complete(entry, settings));
}

std::int64_t parameters(const graph::Graph& graph) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const graph::Value& value = graph.value(graph::ValueId(i));
    if (value.content.draw && !is_statistic(value.name)) count += value.type.shape.elements();
  }
  return count;
}

}  // namespace lowtide::zoo
