// RNN, GRU and LSTM, unrolled over time: every step is a product and a few elementwise ops, so that
// their gradients and their memory are planned like any other's.
#pragma once

#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

std::vector<graph::ValueId> read_rnn(graph::OnnxNode& node);
std::vector<graph::ValueId> read_gru(graph::OnnxNode& node);
std::vector<graph::ValueId> read_lstm(graph::OnnxNode& node);

}  // namespace lowtide::ops
