// The builders behind zoo::build, one per network.
#pragma once

#include "lowtide/zoo.h"

#include "graph/graph.h"

namespace lowtide::zoo {

// Three linear layers of `width` (128) hidden units with ReLU, on a flattened image of `size` (28).
graph::Graph build_mlp(const ZooSettings& settings);

// LeNet-5 (LeCun et al. 1998) with ReLU and max pooling, for images of `size` (28) from 12 on.
graph::Graph build_lenet(const ZooSettings& settings);

// ResNet (He et al. 2015), stride in the 3x3 convolution. Depth 2 n + 2 below 50 has blocks of two
// convolutions, depth 3 n + 2 from 50 on blocks of three. `blocks` gives the blocks per stage;
// without a depth beside it they are blocks of three. `size`: 224.
graph::Graph build_resnet(const ZooSettings& settings);

// VGG (Simonyan and Zisserman 2014), depth 11, 13, 16 or 19 (16), two hidden layers of `width`
// (4096), images of `size` (224) from 32 on. Without its dropout: what trains from a plain
// inference file.
graph::Graph build_vgg(const ZooSettings& settings);

// Wide ResNet (Zagoruyko and Komodakis 2016), depth 6 n + 4 (28), widening `width` (2), `size`
// (32).
graph::Graph build_wrn(const ZooSettings& settings);

}  // namespace lowtide::zoo
