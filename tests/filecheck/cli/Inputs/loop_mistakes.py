# SPDX-License-Identifier: Apache-2.0
"""Writes MLIR files with one mistake each, NAME.mlir, into the folder of this file."""

from pathlib import Path

FUNCTION = """\
func.func @f(%a: memref<4x8xf32>, %b: memref<8x6xf32>, %c: memref<4x6xf32>) {{
  linalg.matmul {{
    {attributes}
  }} ins(%a, %b : memref<4x8xf32>, memref<8x6xf32>) outs(%c : memref<4x6xf32>)
  return
}}
"""
DIMS = 'loop.dims = ["i", "j", "k"]'
ATTRIBUTES = {
    "axis": f'{DIMS}, loop.schedule = {{"i", "jj", "k"}}',
    "word": f'{DIMS}, loop.schedule = {{"i", "j",\n      "k" = {{"vectorise"}}}}',
    "twice": f'{DIMS}, loop.schedule = {{"i", "j",\n      "i"}}',
    "large": f'{DIMS}, loop.schedule = {{"i", "j", "k", "i#5"}}',
    "reduced": f'{DIMS}, loop.schedule = {{"i", "j", "k" = {{"vectorize"}}}}',
    "text": f'{DIMS}, loop.schedule = "{{i: {{}}, j: {{, k: {{}}}}"',
    "factor": f'{DIMS}, loop.schedule = {{"i", "j", "k" = {{"unroll" = "two"}}}}',
    "number": f"{DIMS}, loop.schedule = 4",
    "escape": f'{DIMS}, loop.schedule = {{"\\69", "j"}}',
    "unclosed": f'{DIMS}, loop.schedule = {{"i", "j"',
    "none": DIMS,
    "nameless": 'loop.schedule = {"i"}',
    "names": 'loop.dims = ["i", "j"], loop.schedule = {"i"}',
    "same": 'loop.dims = ["i", "i", "k"], loop.schedule = {"i"}',
}
FILES = {
    "alias": "#s = {i, j}\n" + FUNCTION.format(attributes=f"{DIMS}, loop.schedule = #s"),
    "dynamic": FUNCTION.format(attributes=f'{DIMS}, loop.schedule = {{"i"}}').replace("4x", "?x"),
    "strided": FUNCTION.format(attributes=f'{DIMS}, loop.schedule = {{"i"}}').replace(
        "memref<4x8xf32>", "memref<4x8xf32, strided<[16, 1]>>"
    ),
    "returned": """\
func.func @f(%a: memref<4xf32>) -> memref<4xf32> {
  linalg.exp {loop.dims = ["i"], loop.schedule = {"i"}}
    ins(%a : memref<4xf32>) outs(%a : memref<4xf32>)
  return %a : memref<4xf32>
}
""",
    "copied": """\
func.func @f(%a: memref<4xf32>, %b: memref<4xf32>) {
  linalg.exp {loop.dims = ["i"], loop.schedule = {"i"}}
    ins(%a : memref<4xf32>) outs(%a : memref<4xf32>)
  memref.copy %a, %b : memref<4xf32> to memref<4xf32>
  return
}
""",
    "calls": """\
func.func private @system(tensor<4xf32>)
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.exp {loop.dims = ["i"], loop.schedule = {"i"}}
    ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
  func.call @system(%0) : (tensor<4xf32>) -> ()
  return %0 : tensor<4xf32>
}
""",
    "beyond": """\
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(d0) -> ((d0 mod 3) * 2)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]}
    ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>)
    attrs = {loop.dims = ["i"], loop.schedule = {"i"}} {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
""",
}


def write() -> None:
    """Every file of this module."""
    files = {name: FUNCTION.format(attributes=text) for name, text in ATTRIBUTES.items()}
    for name, text in {**files, **FILES}.items():
        (Path(__file__).parent / f"{name}.mlir").write_text(text)
