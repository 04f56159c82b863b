"""GPT-2 and ViT in plain PyTorch, as the zoo has them."""

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """x + attention(norm(x)), then x + feed_forward(norm(x))."""

    def __init__(self, width, heads, *, causal, epsilon, approximate):
        super().__init__()
        self.heads, self.causal, self.approximate = heads, causal, approximate
        self.norm1, self.norm2 = nn.LayerNorm(width, epsilon), nn.LayerNorm(width, epsilon)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        samples, length, width = x.shape
        heads = self.qkv(self.norm1(x)).view(samples, length, 3, self.heads, width // self.heads)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.out(mixed.transpose(1, 2).reshape(samples, length, width))
        hidden = functional.gelu(self.fc1(self.norm2(x)), approximate=self.approximate)
        return x + self.fc2(hidden)


class Gpt2(nn.Module):
    def __init__(self, vocabulary, length, width=768, heads=12, depth=12):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Parameter(torch.randn(length, width) * 0.01)
        self.blocks = nn.Sequential(*(
            Block(width, heads, causal=True, epsilon=1e-5, approximate="tanh")
            for _ in range(depth)))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        x = self.norm(self.blocks(self.tokens(x) + self.positions))
        return (x @ self.tokens.weight.t()).flatten(0, 1)


class Vit(nn.Module):
    def __init__(self, classes, size=224, patch=16, width=768, heads=12, depth=12):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.class_token = nn.Parameter(torch.randn(1, 1, width) * 1e-6)
        self.positions = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width) * 0.02)
        self.blocks = nn.Sequential(*(
            Block(width, heads, causal=False, epsilon=1e-6, approximate="none")
            for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width, 1e-6), nn.Linear(width, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(len(x), -1, -1), x], 1) + self.positions
        return self.head(self.norm(self.blocks(x)[:, 0]))
