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
EXP = """\
func.func @f({more}%a: memref<4x{type}>) {{
  linalg.exp {{loop.dims = ["i"], loop.schedule = {{"i"}}}}
    ins(%a : memref<4x{type}>) outs(%a : memref<4x{type}>)
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
    "names": 'loop.dims = ["i", "j", "k", "l"], loop.schedule = {"i"}',
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
    "softmax": """\
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.softmax {loop.dims = ["i"], loop.schedule = {"i"}} dimension(0)
    ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
""",
    "open": """\
func.func private @f(%a: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.exp {loop.dims = ["i"], loop.schedule = {"i"}}
    ins(%a : tensor<?xf32>) outs(%a : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
""",
    "body": """\
func.func private @g(f32) -> f32
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
    outs(%a : tensor<4xf32>)
    attrs = {loop.dims = ["i"], loop.schedule = {"i" = {"vectorize"}}} {
    ^bb0(%out: f32):
      %1 = func.call @g(%out) : (f32) -> f32
      linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
""",
    "number_argument": EXP.format(more="%n: i32, ", type="f32"),
    "truth": EXP.format(more="%n: memref<4xi1>, ", type="f32"),
    "nothing": """\
func.func @f() {
  %0 = tensor.empty() : tensor<4xf32>
  %1 = linalg.exp {loop.dims = ["i"], loop.schedule = {"i"}}
    ins(%0 : tensor<4xf32>) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
  return
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
