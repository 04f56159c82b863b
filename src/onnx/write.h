// Writes ONNX files: a trained copy of a file, and a graph as a fresh file. Both appear under
// their name only when they are complete, and hold no more than a chunk of weights in memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/shape.h"
#include "graph/graph.h"
#include "onnx/bytes/output.h"
#include "onnx/bytes/tensor.h"

namespace lowtide::onnx {

// A new initializer that one input of one node reads from now on, in place of one that the
// exporter had merged from several.
struct SplitInitializer {
  std::string name;
  std::string merged;       // the initializer's name
  std::string node_output;  // the first output of the node
  std::size_t input = 0;    // of the node
  core::Shape shape;
  ByteSource bytes;
};

struct TrainedTensors {
  // By the name of an initializer, or of a Constant node's output. Bytes are in the file's type,
  // but for halves: these are given as float32 and rounded.
  std::map<std::string, ByteSource> tensors = {};
  std::vector<SplitInitializer> splits = {};
  Metadata metadata = {};  // set in the model, over what is there
};

// Copies the model at `source` to `out` with new weights, for inference: training flags of batch
// normalisation and dropout are off in the copy. Everything else stays as it is, byte by byte.
// External data goes to `<out>.data`, in the layout of the source; it is in place before the model
// is, so a crash in between leaves the old model (with new weights where it names that very file).
// `out` may be `source`. Throws Error: kIo naming the output, with nothing left behind;
// kInvalidArgument for names that are not in the model; kUnsupported.
void write_trained(const std::filesystem::path& source,
                   const std::filesystem::path& out,
                   const TrainedTensors& trained);

struct WriteOptions {
  std::string batch_name = "batch";            // of dimension 0 of inputs and outputs; "": fixed
  std::vector<std::string> output_names = {};  // empty: the values' own names
  // With more bytes of weights than this they go to `<out>.data`; protobuf ends at 2 GiB.
  Bytes inline_limit = Bytes(std::int64_t{1} << 30);
};

// Writes an inference graph as ONNX, opset 20. Throws Error(kUnsupported) for nodes that have no
// ONNX form, Error(kIo) as above.
void write_graph(const graph::Graph& graph,
                 const std::filesystem::path& out,
                 const WriteOptions& options = {});

}  // namespace lowtide::onnx
