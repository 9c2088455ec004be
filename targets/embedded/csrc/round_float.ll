; SPDX-License-Identifier: Apache-2.0
; Roundings of float32 to whole numbers by C's names, on the bits: for cores without instructions
; for them. NaN, infinities and what is whole already stay; the sign stays, also of zero.

; Bits below the point of a number of 1 and more; 0 for a whole one.
define internal i32 @fraction_mask(i32 %x) nounwind {
  %e.part = lshr i32 %x, 23
  %e = and i32 %e.part, 255
  %shift.wanted = sub i32 150, %e
  %low = call i32 @llvm.smax.i32(i32 %shift.wanted, i32 0)
  %shift = call i32 @llvm.smin.i32(i32 %low, i32 23)
  %power = shl i32 1, %shift
  %mask = add i32 %power, -1
  ret i32 %mask
}

define internal i1 @below_one(i32 %x) nounwind {
  %abs = and i32 %x, 2147483647
  %r = icmp ult i32 %abs, 1065353216
  ret i1 %r
}

define float @truncf(float %v) nounwind section ".text.truncf" {
  %x = bitcast float %v to i32
  %small = call i1 @below_one(i32 %x)
  %mask = call i32 @fraction_mask(i32 %x)
  %keep = xor i32 %mask, -1
  %cut = and i32 %x, %keep
  %sign = and i32 %x, -2147483648
  %r = select i1 %small, i32 %sign, i32 %cut
  %f = bitcast i32 %r to float
  ret float %f
}

; Away from zero if `up` is set and there is a fraction.
define internal float @directed(i32 %x, i1 %up) nounwind {
  %abs = and i32 %x, 2147483647
  %sign = and i32 %x, -2147483648
  %zero = icmp eq i32 %abs, 0
  %small = call i1 @below_one(i32 %x)
  %mask = call i32 @fraction_mask(i32 %x)
  %more = select i1 %up, i32 %mask, i32 0
  %sum = add i32 %x, %more
  %keep = xor i32 %mask, -1
  %cut = and i32 %sum, %keep
  %away = icmp ne i32 %abs, 0
  %is.one = and i1 %up, %away
  %one = select i1 %is.one, i32 1065353216, i32 0
  %near = or i32 %sign, %one
  %r = select i1 %small, i32 %near, i32 %cut
  %f = bitcast i32 %r to float
  ret float %f
}

define float @floorf(float %v) nounwind section ".text.floorf" {
  %x = bitcast float %v to i32
  %up = icmp slt i32 %x, 0
  %r = call float @directed(i32 %x, i1 %up)
  ret float %r
}

define float @ceilf(float %v) nounwind section ".text.ceilf" {
  %x = bitcast float %v to i32
  %up = icmp sge i32 %x, 0
  %r = call float @directed(i32 %x, i1 %up)
  ret float %r
}

; To nearest; halves away from zero, or to the even number.
define internal float @nearest(i32 %x, i1 %even) nounwind {
  %abs = and i32 %x, 2147483647
  %sign = and i32 %x, -2147483648
  %small = call i1 @below_one(i32 %x)
  %mask = call i32 @fraction_mask(i32 %x)
  %half.and.more = add i32 %mask, 1
  %half = lshr i32 %half.and.more, 1
  %last = and i32 %x, %half.and.more
  %is.odd = icmp ne i32 %last, 0
  %not.even = xor i1 %even, true
  %full = or i1 %is.odd, %not.even
  %less = sub i32 %half, 1
  %bump = select i1 %full, i32 %half, i32 %less
  %whole = icmp eq i32 %mask, 0
  %add = select i1 %whole, i32 0, i32 %bump
  %sum = add i32 %x, %add
  %keep = xor i32 %mask, -1
  %cut = and i32 %sum, %keep
  %over.half = icmp ugt i32 %abs, 1056964608
  %at.half = icmp eq i32 %abs, 1056964608
  %away = and i1 %at.half, %not.even
  %is.one = or i1 %over.half, %away
  %one = select i1 %is.one, i32 1065353216, i32 0
  %near = or i32 %sign, %one
  %r = select i1 %small, i32 %near, i32 %cut
  %f = bitcast i32 %r to float
  ret float %f
}

define float @roundf(float %v) nounwind section ".text.roundf" {
  %x = bitcast float %v to i32
  %r = call float @nearest(i32 %x, i1 false)
  ret float %r
}

define float @roundevenf(float %v) nounwind section ".text.roundevenf" {
  %x = bitcast float %v to i32
  %r = call float @nearest(i32 %x, i1 true)
  ret float %r
}

define float @rintf(float %v) nounwind section ".text.rintf" {
  %x = bitcast float %v to i32
  %r = call float @nearest(i32 %x, i1 true)
  ret float %r
}

define float @nearbyintf(float %v) nounwind section ".text.nearbyintf" {
  %x = bitcast float %v to i32
  %r = call float @nearest(i32 %x, i1 true)
  ret float %r
}

declare i32 @llvm.smax.i32(i32, i32)
declare i32 @llvm.smin.i32(i32, i32)
