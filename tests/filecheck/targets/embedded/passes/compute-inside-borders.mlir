// RUN: xtc-opt %s --compute-inside-borders | FileCheck %s
// RUN: xtc-opt %s --compute-inside-borders | FileCheck %s --check-prefix=KEPT

// The border is filled first; the operation writes inside it, and other readers use that part.
// CHECK-LABEL: func.func @padded(
// CHECK:         %[[E:.*]] = tensor.empty() : tensor<6xi8>
// CHECK:         %[[F:.*]] = linalg.fill {{.*}} outs(%[[E]]
// CHECK:         %[[S:.*]] = tensor.extract_slice %[[F]][1] [4] [1]
// CHECK:         %[[Y:.*]] = linalg.generic {{.*}} outs(%[[S]] : tensor<4xi8>)
// CHECK:         %[[Q:.*]] = tensor.insert_slice %[[Y]] into %[[F]][1] [4] [1]
// CHECK:         %[[Z:.*]] = tensor.extract_slice %[[Q]][1] [4] [1]
// CHECK:         return %[[Q]], %[[Z]]
func.func @padded(%x: tensor<4xi8>) -> (tensor<6xi8>, tensor<4xi8>) {
  %c0 = arith.constant 0 : i8
  %e = tensor.empty() : tensor<4xi8>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<4xi8>) outs(%e : tensor<4xi8>) {
  ^bb0(%in: i8, %out: i8):
    %2 = arith.addi %in, %in : i8
    linalg.yield %2 : i8
  } -> tensor<4xi8>
  %p = tensor.empty() : tensor<6xi8>
  %f = linalg.fill ins(%c0 : i8) outs(%p : tensor<6xi8>) -> tensor<6xi8>
  %q = tensor.insert_slice %y into %f[1] [4] [1] : tensor<4xi8> into tensor<6xi8>
  return %q, %y : tensor<6xi8>, tensor<4xi8>
}

// An argument is copied.
// KEPT-LABEL: func.func @argument(
// KEPT:         %[[F:.*]] = linalg.fill
// KEPT-NEXT:    tensor.insert_slice %{{.*}} into %[[F]][1] [4] [1]
func.func @argument(%x: tensor<4xi8>) -> tensor<6xi8> {
  %c0 = arith.constant 0 : i8
  %p = tensor.empty() : tensor<6xi8>
  %f = linalg.fill ins(%c0 : i8) outs(%p : tensor<6xi8>) -> tensor<6xi8>
  %q = tensor.insert_slice %x into %f[1] [4] [1] : tensor<4xi8> into tensor<6xi8>
  return %q : tensor<6xi8>
}
