"""The networks: torchvision's, and small ones of the kinds it lacks. Random weights."""

import dataclasses
from collections.abc import Callable

import torch
import torchvision
from torch import nn
from torch.nn import functional as F

CLASSES = 10


@dataclasses.dataclass
class Network:
    make: Callable[[], nn.Module]
    inputs: dict[str, tuple]  # name -> shape of a sample; integers below a bound where it ends in one
    label: tuple = ()  # shape of a sample's label
    classes: int = CLASSES
    outputs: tuple = ("logits",)
    training_outputs: tuple = ("logits",)  # auxiliary heads exist in training only


class Bounded(tuple):
    """The shape of an integer input whose elements are below `bound`."""

    def __new__(cls, shape, bound):
        made = super().__new__(cls, shape)
        made.bound = bound
        return made


def vision(name, size=64, **options):
    def make():
        return getattr(torchvision.models, name)(weights=None, num_classes=CLASSES, **options)

    return Network(make, {"input": (3, size, size)})


class Attention(nn.Module):
    """Causal by PyTorch's own function, or written out, with a bias for the scores."""

    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.drop = nn.Dropout(0.1)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x, bias=None):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(x).split(width, dim=2))
        if self.causal:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True,
                                               dropout_p=0.1 if self.training else 0.0)
        else:
            scores = q @ k.transpose(2, 3) / (width // self.heads) ** 0.5 + bias
            y = self.drop(scores.softmax(dim=-1)) @ v
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads, causal, pre_norm, activation):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), activation, nn.Linear(4 * width, width))
        self.drop = nn.Dropout(0.1)
        self.pre_norm = pre_norm

    def forward(self, x, bias=None):
        if self.pre_norm:
            x = x + self.drop(self.attention(self.norm1(x), bias))
            return x + self.drop(self.mlp(self.norm2(x)))
        x = self.norm1(x + self.drop(self.attention(x, bias)))
        return self.norm2(x + self.drop(self.mlp(x)))


class Gpt2(nn.Module):
    """Two layers, learned positions, the output layer tied to the token table."""

    def __init__(self, vocabulary=101, width=48, length=24):
        super().__init__()
        self.token, self.place = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.drop = nn.Dropout(0.1)
        self.blocks = nn.ModuleList(
            Block(width, 4, True, True, nn.GELU(approximate="tanh")) for _ in range(2))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.token.weight

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.drop(self.token(tokens) + self.place(places))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Bert(nn.Module):
    """Two layers over padded sequences, classified by the first token."""

    def __init__(self, vocabulary=97, width=48, length=20):
        super().__init__()
        self.token, self.place = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.drop = nn.Dropout(0.1)
        self.blocks = nn.ModuleList(Block(width, 4, False, False, nn.GELU()) for _ in range(2))
        self.pool = nn.Linear(width, width)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, ids, mask):
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.drop(self.norm(self.token(ids) + self.place(places)))
        bias = (1.0 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for block in self.blocks:
            x = block(x, bias)
        return self.head(torch.tanh(self.pool(x[:, 0])))


def double_conv(inside, outside):
    return nn.Sequential(nn.Conv2d(inside, outside, 3, padding=1, bias=False),
                         nn.BatchNorm2d(outside), nn.ReLU(inplace=True))


class Unet(nn.Module):
    """Three levels; the way up by transposed convolution or by resizing."""

    def __init__(self, up):
        super().__init__()
        self.up = up
        self.down = nn.ModuleList(double_conv(a, b) for a, b in ((3, 16), (16, 32), (32, 64)))
        self.rise = nn.ModuleList(
            nn.ConvTranspose2d(a, b, 2, stride=2) if up == "transposed" else nn.Conv2d(a, b, 1)
            for a, b in ((64, 32), (32, 16)))
        self.join = nn.ModuleList(double_conv(a, b) for a, b in ((64, 32), (32, 16)))
        self.head = nn.Conv2d(16, CLASSES, 1)

    def forward(self, x):
        skips = []
        for i, stage in enumerate(self.down):
            x = stage(x if i == 0 else F.max_pool2d(x, 2))
            skips.append(x)
        for rise, join, skip in zip(self.rise, self.join, reversed(skips[:-1])):
            x = rise(x)
            if self.up == "nearest":
                x = F.interpolate(x, scale_factor=2.0, mode="nearest")
            elif self.up == "bilinear":
                x = F.interpolate(x, size=skip.shape[2:], mode="bilinear", align_corners=False)
            x = join(torch.cat([x, skip], dim=1))
        return self.head(x)


def unet(up):
    return Network(lambda: Unet(up), {"input": (3, 32, 32)}, label=(32, 32))


AUXILIARY = ("logits", "aux2", "aux1")

NETWORKS = {
    # Their adaptive pooling can be exported only where it does nothing.
    "alexnet": vision("alexnet", 224),
    "vgg11": vision("vgg11", 224),
    "vgg16": vision("vgg16", 224),
    "vgg11_bn": vision("vgg11_bn", 224),
    "resnet18": vision("resnet18"),
    "resnet50": vision("resnet50"),
    "resnext50": vision("resnext50_32x4d"),
    "wide_resnet50": vision("wide_resnet50_2"),
    "squeezenet": vision("squeezenet1_1"),
    "densenet121": vision("densenet121"),
    "googlenet": dataclasses.replace(
        vision("googlenet", aux_logits=True, init_weights=False), training_outputs=AUXILIARY),
    "inception_v3": dataclasses.replace(
        vision("inception_v3", 299, aux_logits=True, init_weights=False),
        training_outputs=("logits", "aux")),
    "mobilenet_v2": vision("mobilenet_v2"),
    "mobilenet_v3": vision("mobilenet_v3_small"),
    "shufflenet_v2": vision("shufflenet_v2_x1_0"),
    "mnasnet": vision("mnasnet0_5"),
    "efficientnet_b0": vision("efficientnet_b0"),
    "regnet_x": vision("regnet_x_400mf"),
    "regnet_y": vision("regnet_y_400mf"),
    "convnext_tiny": vision("convnext_tiny"),
    "vit_b_16": vision("vit_b_16", image_size=64),
    "swin_t": vision("swin_t"),
    "gpt2": Network(Gpt2, {"tokens": Bounded((24,), 101)}, label=(24,), classes=101),
    "bert": Network(Bert, {"ids": Bounded((20,), 97), "mask": Bounded((20,), 2)}),
    "unet_transposed": unet("transposed"),
    "unet_nearest": unet("nearest"),
    "unet_bilinear": unet("bilinear"),
}
