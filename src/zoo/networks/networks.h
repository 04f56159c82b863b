// The builders behind zoo::build, one per network. Settings come complete: zoo.cpp has put the
// usual values where nothing was given.
#pragma once

#include "lowtide/zoo.h"

#include "graph/graph.h"

namespace lowtide::zoo {

// Three linear layers with ReLU, on a flattened image.
graph::Graph build_mlp(const ZooSettings& settings);

// LeNet-5 (LeCun et al. 1998) with ReLU and max pooling.
graph::Graph build_lenet(const ZooSettings& settings);

// AlexNet (Krizhevsky 2014, in one column), without its dropout.
graph::Graph build_alexnet(const ZooSettings& settings);

// VGG (Simonyan and Zisserman 2014), without its dropout: what trains from a plain inference file.
graph::Graph build_vgg(const ZooSettings& settings);

// ResNet (He et al. 2015), stride in the 3x3 convolution; ResNeXt (Xie et al. 2016).
graph::Graph build_resnet(const ZooSettings& settings);

// Wide ResNet (Zagoruyko and Komodakis 2016).
graph::Graph build_wrn(const ZooSettings& settings);

// DenseNet (Huang et al. 2016), with bottlenecks and compression by a half.
graph::Graph build_densenet(const ZooSettings& settings);

// Inception v4 (Szegedy et al. 2016).
graph::Graph build_inception(const ZooSettings& settings);

// MobileNet v2 (Sandler et al. 2018).
graph::Graph build_mobilenet(const ZooSettings& settings);

// U-Net (Ronneberger et al. 2015), padded and with batch norm: logits (N, classes, size, size).
graph::Graph build_unet(const ZooSettings& settings);

// GPT-2 (Radford et al. 2019), its head tied to the table of tokens: logits (N, sequence,
// vocabulary).
graph::Graph build_gpt2(const ZooSettings& settings);

// BERT (Devlin et al. 2018) with a head that classifies. Token 0 is padding and not looked at.
graph::Graph build_bert(const ZooSettings& settings);

// The Vision Transformer (Dosovitskiy et al. 2020).
graph::Graph build_vit(const ZooSettings& settings);

}  // namespace lowtide::zoo
