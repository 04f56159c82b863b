// Initializers that hold another one transposed: PyTorch's exporters compute them once for a weight
// that two layers share, such as a token table that is the output layer too.
#pragma once

#include "core/shape.h"
#include "onnx/bytes/output.h"
#include "onnx/model_file.h"

namespace lowtide::onnx {

// Puts a Transpose of the original in the place of each such copy, so that both are trained as the
// one weight they are, and lists them in `file.ties`. What decides is that the exporter made the
// copy, by its name or notes, and that every element agrees. Throws Error(kIo).
void restore_ties(ModelFile& file);

// The bytes of the transpose of a float32 matrix of that shape, which is read in any order.
ByteSource transposed_bytes_of(ByteSource matrix, const core::Shape& shape);

}  // namespace lowtide::onnx
