; SPDX-License-Identifier: Apache-2.0
; float32 on integers, for cores without a floating-point unit: IEEE 754 with subnormal numbers,
; rounded to nearest, by the names of Arm's run-time ABI (IHI 0043, 4.1.2).
;
; A magnitude is an exponent, as stored and at least 1, and 27 bits: 24 with the leading one at
; bit 26, and three for rounding, the last of which says whether anything smaller was lost.

define internal i32 @pack(i32 %sign, i32 %e, i32 %m) nounwind {
entry:
  %none = icmp eq i32 %m, 0
  br i1 %none, label %zero, label %some
zero:
  ret i32 %sign
some:
  %big = icmp sge i32 %e, 255
  br i1 %big, label %inf, label %fits
inf:
  %infinity = or i32 %sign, 2139095040
  ret i32 %infinity
fits:
  %small = icmp slt i32 %e, 1
  %under = sub i32 1, %e
  %shift.wanted = select i1 %small, i32 %under, i32 0
  %shift = call i32 @llvm.umin.i32(i32 %shift.wanted, i32 31)
  %moved = call i32 @sticky(i32 %m, i32 %shift)
  %exponent = select i1 %small, i32 0, i32 %e
  %less = add i32 %exponent, -1
  %above = select i1 %small, i32 0, i32 %less
  %rest = and i32 %moved, 7
  %whole = lshr i32 %moved, 3
  %odd = and i32 %whole, 1
  %limit = sub i32 4, %odd
  %up = icmp ugt i32 %rest, %limit
  %one = zext i1 %up to i32
  %rounded = add i32 %whole, %one
  %field = shl i32 %above, 23
  %number = add i32 %field, %rounded
  %result = or i32 %number, %sign
  ret i32 %result
}

; m shifted right by 0 to 31, the last bit set where a bit was lost.
define internal i32 @sticky(i32 %m, i32 %shift) nounwind {
  %moved = lshr i32 %m, %shift
  %back = shl i32 %moved, %shift
  %lost = icmp ne i32 %back, %m
  %bit = zext i1 %lost to i32
  %result = or i32 %moved, %bit
  ret i32 %result
}

define internal { i32, i32 } @unpack(i32 %x) nounwind {
  %shifted = lshr i32 %x, 23
  %e = and i32 %shifted, 255
  %fraction = and i32 %x, 8388607
  %sub = icmp eq i32 %e, 0
  %hidden = select i1 %sub, i32 0, i32 8388608
  %m = or i32 %fraction, %hidden
  %exponent = select i1 %sub, i32 1, i32 %e
  %a = insertvalue { i32, i32 } poison, i32 %exponent, 0
  %b = insertvalue { i32, i32 } %a, i32 %m, 1
  ret { i32, i32 } %b
}

; As unpack, with the leading one at bit 23 for subnormal numbers, too; m is not 0.
define internal { i32, i32 } @normal(i32 %x) nounwind {
  %both = call { i32, i32 } @unpack(i32 %x)
  %e = extractvalue { i32, i32 } %both, 0
  %m = extractvalue { i32, i32 } %both, 1
  %zeros = call i32 @llvm.ctlz.i32(i32 %m, i1 false)
  %shift = add i32 %zeros, -8
  %high = shl i32 %m, %shift
  %exponent = sub i32 %e, %shift
  %a = insertvalue { i32, i32 } poison, i32 %exponent, 0
  %b = insertvalue { i32, i32 } %a, i32 %high, 1
  ret { i32, i32 } %b
}

define i32 @__aeabi_fadd(i32 %x, i32 %y) nounwind section ".text.__aeabi_fadd" {
entry:
  %x.abs = and i32 %x, 2147483647
  %y.abs = and i32 %y, 2147483647
  %swap = icmp ult i32 %x.abs, %y.abs
  %a = select i1 %swap, i32 %y, i32 %x
  %b = select i1 %swap, i32 %x, i32 %y
  %a.abs = and i32 %a, 2147483647
  %special = icmp uge i32 %a.abs, 2139095040
  br i1 %special, label %odd, label %plain
odd:
  %nan = icmp ugt i32 %a.abs, 2139095040
  br i1 %nan, label %quiet, label %infinite
quiet:
  %q = or i32 %a, 4194304
  ret i32 %q
infinite:
  %xor.odd = xor i32 %a, %b
  %opposite = icmp eq i32 %xor.odd, -2147483648
  %i = select i1 %opposite, i32 2143289344, i32 %a
  ret i32 %i
plain:
  %a.both = call { i32, i32 } @unpack(i32 %a)
  %b.both = call { i32, i32 } @unpack(i32 %b)
  %a.e = extractvalue { i32, i32 } %a.both, 0
  %a.m = extractvalue { i32, i32 } %a.both, 1
  %b.e = extractvalue { i32, i32 } %b.both, 0
  %b.m = extractvalue { i32, i32 } %b.both, 1
  %a.wide = shl i32 %a.m, 3
  %b.wide = shl i32 %b.m, 3
  %distance = sub i32 %a.e, %b.e
  %shift = call i32 @llvm.umin.i32(i32 %distance, i32 31)
  %b.moved = call i32 @sticky(i32 %b.wide, i32 %shift)
  %sign = and i32 %a, -2147483648
  %xor = xor i32 %a, %b
  %differ = icmp slt i32 %xor, 0
  br i1 %differ, label %minus, label %plus
plus:
  %sum = add i32 %a.wide, %b.moved
  %carry = lshr i32 %sum, 27
  %sum.m = call i32 @sticky(i32 %sum, i32 %carry)
  %sum.e = add i32 %a.e, %carry
  %p = call i32 @pack(i32 %sign, i32 %sum.e, i32 %sum.m)
  ret i32 %p
minus:
  %difference = sub i32 %a.wide, %b.moved
  %zero = icmp eq i32 %difference, 0
  br i1 %zero, label %nothing, label %some
nothing:
  ret i32 0
some:
  %zeros = call i32 @llvm.ctlz.i32(i32 %difference, i1 false)
  %up.wanted = add i32 %zeros, -5
  %most = add i32 %a.e, -1
  %up = call i32 @llvm.umin.i32(i32 %up.wanted, i32 %most)
  %high = shl i32 %difference, %up
  %e = sub i32 %a.e, %up
  %m = call i32 @pack(i32 %sign, i32 %e, i32 %high)
  ret i32 %m
}

define i32 @__aeabi_fsub(i32 %x, i32 %y) nounwind section ".text.__aeabi_fsub" {
  %minus = xor i32 %y, -2147483648
  %r = call i32 @__aeabi_fadd(i32 %x, i32 %minus)
  ret i32 %r
}

define i32 @__aeabi_fmul(i32 %x, i32 %y) nounwind section ".text.__aeabi_fmul" {
entry:
  %xor = xor i32 %x, %y
  %sign = and i32 %xor, -2147483648
  %x.abs = and i32 %x, 2147483647
  %y.abs = and i32 %y, 2147483647
  %most = call i32 @llvm.umax.i32(i32 %x.abs, i32 %y.abs)
  %least = call i32 @llvm.umin.i32(i32 %x.abs, i32 %y.abs)
  %special = icmp uge i32 %most, 2139095040
  br i1 %special, label %odd, label %finite
odd:
  %nan = icmp ugt i32 %most, 2139095040
  %no = icmp eq i32 %least, 0
  %bad = or i1 %nan, %no
  %infinity = or i32 %sign, 2139095040
  %r.odd = select i1 %bad, i32 2143289344, i32 %infinity
  ret i32 %r.odd
finite:
  %zero = icmp eq i32 %least, 0
  br i1 %zero, label %nothing, label %some
nothing:
  ret i32 %sign
some:
  %x.both = call { i32, i32 } @normal(i32 %x)
  %y.both = call { i32, i32 } @normal(i32 %y)
  %x.e = extractvalue { i32, i32 } %x.both, 0
  %x.m = extractvalue { i32, i32 } %x.both, 1
  %y.e = extractvalue { i32, i32 } %y.both, 0
  %y.m = extractvalue { i32, i32 } %y.both, 1
  %x.top = shl i32 %x.m, 8
  %y.top = shl i32 %y.m, 8
  %product = call i64 @xtc_umull(i32 %x.top, i32 %y.top)
  %shifted = lshr i64 %product, 32
  %high = trunc i64 %shifted to i32
  %low = trunc i64 %product to i32
  %top = lshr i32 %high, 31
  %shift = add i32 %top, 4
  %moved = call i32 @sticky(i32 %high, i32 %shift)
  %lost = icmp ne i32 %low, 0
  %bit = zext i1 %lost to i32
  %m = or i32 %moved, %bit
  %e.sum = add i32 %x.e, %y.e
  %e.more = add i32 %e.sum, %top
  %e = add i32 %e.more, -127
  %r = call i32 @pack(i32 %sign, i32 %e, i32 %m)
  ret i32 %r
}

define i32 @__aeabi_fdiv(i32 %x, i32 %y) nounwind section ".text.__aeabi_fdiv" {
entry:
  %xor = xor i32 %x, %y
  %sign = and i32 %xor, -2147483648
  %infinity = or i32 %sign, 2139095040
  %x.abs = and i32 %x, 2147483647
  %y.abs = and i32 %y, 2147483647
  %x.nan = icmp ugt i32 %x.abs, 2139095040
  %y.nan = icmp ugt i32 %y.abs, 2139095040
  %nan = or i1 %x.nan, %y.nan
  br i1 %nan, label %bad, label %numbers
bad:
  ret i32 2143289344
numbers:
  %x.inf = icmp eq i32 %x.abs, 2139095040
  %y.inf = icmp eq i32 %y.abs, 2139095040
  %x.zero = icmp eq i32 %x.abs, 0
  %y.zero = icmp eq i32 %y.abs, 0
  %both.inf = and i1 %x.inf, %y.inf
  %both.zero = and i1 %x.zero, %y.zero
  %undefined = or i1 %both.inf, %both.zero
  br i1 %undefined, label %bad, label %defined
defined:
  %to.inf = or i1 %x.inf, %y.zero
  br i1 %to.inf, label %big, label %not.big
big:
  ret i32 %infinity
not.big:
  %to.zero = or i1 %x.zero, %y.inf
  br i1 %to.zero, label %nothing, label %some
nothing:
  ret i32 %sign
some:
  %x.both = call { i32, i32 } @normal(i32 %x)
  %y.both = call { i32, i32 } @normal(i32 %y)
  %x.e = extractvalue { i32, i32 } %x.both, 0
  %x.m = extractvalue { i32, i32 } %x.both, 1
  %y.e = extractvalue { i32, i32 } %y.both, 0
  %y.m = extractvalue { i32, i32 } %y.both, 1
  %less = icmp ult i32 %x.m, %y.m
  %one = zext i1 %less to i32
  %first = shl i32 %x.m, %one
  %e.difference = sub i32 %x.e, %y.e
  %e.less = sub i32 %e.difference, %one
  %e = add i32 %e.less, 127
  br label %loop
loop:
  %i = phi i32 [ 27, %some ], [ %i.next, %loop ]
  %r = phi i32 [ %first, %some ], [ %r.next, %loop ]
  %q = phi i32 [ 0, %some ], [ %q.next, %loop ]
  %fits = icmp uge i32 %r, %y.m
  %left = sub i32 %r, %y.m
  %kept = select i1 %fits, i32 %left, i32 %r
  %bit = zext i1 %fits to i32
  %q.twice = shl i32 %q, 1
  %q.next = or i32 %q.twice, %bit
  %r.next = shl i32 %kept, 1
  %i.next = add i32 %i, -1
  %done = icmp eq i32 %i.next, 0
  br i1 %done, label %end, label %loop
end:
  %rest = icmp ne i32 %r.next, 0
  %last = zext i1 %rest to i32
  %m = or i32 %q.next, %last
  %result = call i32 @pack(i32 %sign, i32 %e, i32 %m)
  ret i32 %result
}

; A number whose order as a signed integer is that of the floats; both zeros are 0.
define internal i32 @order(i32 %x) nounwind {
  %abs = and i32 %x, 2147483647
  %minus = sub i32 0, %abs
  %negative = icmp slt i32 %x, 0
  %r = select i1 %negative, i32 %minus, i32 %abs
  ret i32 %r
}

define i32 @__aeabi_fcmpun(i32 %x, i32 %y) nounwind section ".text.__aeabi_fcmpun" {
  %x.abs = and i32 %x, 2147483647
  %y.abs = and i32 %y, 2147483647
  %most = call i32 @llvm.umax.i32(i32 %x.abs, i32 %y.abs)
  %nan = icmp ugt i32 %most, 2139095040
  %r = zext i1 %nan to i32
  ret i32 %r
}

define i32 @__aeabi_fcmpeq(i32 %x, i32 %y) nounwind section ".text.__aeabi_fcmpeq" {
  %nan = call i32 @__aeabi_fcmpun(i32 %x, i32 %y)
  %a = call i32 @order(i32 %x)
  %b = call i32 @order(i32 %y)
  %holds = icmp eq i32 %a, %b
  %bit = zext i1 %holds to i32
  %not = xor i32 %nan, 1
  %r = and i32 %bit, %not
  ret i32 %r
}

define i32 @__aeabi_fcmplt(i32 %x, i32 %y) nounwind section ".text.__aeabi_fcmplt" {
  %nan = call i32 @__aeabi_fcmpun(i32 %x, i32 %y)
  %a = call i32 @order(i32 %x)
  %b = call i32 @order(i32 %y)
  %holds = icmp slt i32 %a, %b
  %bit = zext i1 %holds to i32
  %not = xor i32 %nan, 1
  %r = and i32 %bit, %not
  ret i32 %r
}

define i32 @__aeabi_fcmple(i32 %x, i32 %y) nounwind section ".text.__aeabi_fcmple" {
  %nan = call i32 @__aeabi_fcmpun(i32 %x, i32 %y)
  %a = call i32 @order(i32 %x)
  %b = call i32 @order(i32 %y)
  %holds = icmp sle i32 %a, %b
  %bit = zext i1 %holds to i32
  %not = xor i32 %nan, 1
  %r = and i32 %bit, %not
  ret i32 %r
}

define i32 @__aeabi_fcmpgt(i32 %x, i32 %y) nounwind section ".text.__aeabi_fcmpgt" {
  %r = call i32 @__aeabi_fcmplt(i32 %y, i32 %x)
  ret i32 %r
}

define i32 @__aeabi_fcmpge(i32 %x, i32 %y) nounwind section ".text.__aeabi_fcmpge" {
  %r = call i32 @__aeabi_fcmple(i32 %y, i32 %x)
  ret i32 %r
}

define i32 @__aeabi_ui2f(i32 %x) nounwind section ".text.__aeabi_ui2f" {
  %r = call i32 @of_magnitude(i32 0, i32 %x)
  ret i32 %r
}

define i32 @__aeabi_i2f(i32 %x) nounwind section ".text.__aeabi_i2f" {
  %sign = and i32 %x, -2147483648
  %minus = sub i32 0, %x
  %negative = icmp slt i32 %x, 0
  %abs = select i1 %negative, i32 %minus, i32 %x
  %r = call i32 @of_magnitude(i32 %sign, i32 %abs)
  ret i32 %r
}

define internal i32 @of_magnitude(i32 %sign, i32 %x) nounwind {
entry:
  %zero = icmp eq i32 %x, 0
  br i1 %zero, label %nothing, label %some
nothing:
  ret i32 0
some:
  %zeros = call i32 @llvm.ctlz.i32(i32 %x, i1 false)
  %top = shl i32 %x, %zeros
  %m = call i32 @sticky(i32 %top, i32 5)
  %e = sub i32 158, %zeros
  %r = call i32 @pack(i32 %sign, i32 %e, i32 %m)
  ret i32 %r
}

define i32 @__aeabi_f2iz(i32 %x) nounwind section ".text.__aeabi_f2iz" {
  %abs = and i32 %x, 2147483647
  %m = call i32 @__aeabi_f2uiz(i32 %abs)
  %minus = sub i32 0, %m
  %negative = icmp slt i32 %x, 0
  %r = select i1 %negative, i32 %minus, i32 %m
  ret i32 %r
}

define i32 @__aeabi_f2uiz(i32 %x) nounwind section ".text.__aeabi_f2uiz" {
entry:
  %e.part = lshr i32 %x, 23
  %e = and i32 %e.part, 255
  %small = icmp ult i32 %e, 127
  br i1 %small, label %nothing, label %some
nothing:
  ret i32 0
some:
  %fraction = shl i32 %x, 8
  %m = or i32 %fraction, -2147483648
  %shift.wanted = sub i32 158, %e
  %shift = call i32 @llvm.umin.i32(i32 %shift.wanted, i32 31)
  %r = lshr i32 %m, %shift
  ret i32 %r
}

; The larger and the smaller of two, -0 below 0. NaN wins in the first pair, loses in the other.

define i32 @fmaximumf(i32 %x, i32 %y) nounwind section ".text.fmaximumf" {
  %x.abs = and i32 %x, 2147483647
  %y.abs = and i32 %y, 2147483647
  %x.nan = icmp ugt i32 %x.abs, 2139095040
  %y.nan = icmp ugt i32 %y.abs, 2139095040
  %x.sign = ashr i32 %x, 31
  %y.sign = ashr i32 %y, 31
  %x.flip = and i32 %x.sign, 2147483647
  %y.flip = and i32 %y.sign, 2147483647
  %x.order = xor i32 %x, %x.flip
  %y.order = xor i32 %y, %y.flip
  %first = icmp sge i32 %x.order, %y.order
  %best = select i1 %first, i32 %x, i32 %y
  %nan = or i1 %x.nan, %y.nan
  %r = select i1 %nan, i32 2143289344, i32 %best
  ret i32 %r
}

define i32 @fminimumf(i32 %x, i32 %y) nounwind section ".text.fminimumf" {
  %x.abs = and i32 %x, 2147483647
  %y.abs = and i32 %y, 2147483647
  %x.nan = icmp ugt i32 %x.abs, 2139095040
  %y.nan = icmp ugt i32 %y.abs, 2139095040
  %x.sign = ashr i32 %x, 31
  %y.sign = ashr i32 %y, 31
  %x.flip = and i32 %x.sign, 2147483647
  %y.flip = and i32 %y.sign, 2147483647
  %x.order = xor i32 %x, %x.flip
  %y.order = xor i32 %y, %y.flip
  %first = icmp sle i32 %x.order, %y.order
  %best = select i1 %first, i32 %x, i32 %y
  %nan = or i1 %x.nan, %y.nan
  %r = select i1 %nan, i32 2143289344, i32 %best
  ret i32 %r
}

define i32 @fmaxf(i32 %x, i32 %y) nounwind section ".text.fmaxf" {
  %x.abs = and i32 %x, 2147483647
  %y.abs = and i32 %y, 2147483647
  %x.nan = icmp ugt i32 %x.abs, 2139095040
  %y.nan = icmp ugt i32 %y.abs, 2139095040
  %x.sign = ashr i32 %x, 31
  %y.sign = ashr i32 %y, 31
  %x.flip = and i32 %x.sign, 2147483647
  %y.flip = and i32 %y.sign, 2147483647
  %x.order = xor i32 %x, %x.flip
  %y.order = xor i32 %y, %y.flip
  %first = icmp sge i32 %x.order, %y.order
  %best = select i1 %first, i32 %x, i32 %y
  %a = select i1 %y.nan, i32 %x, i32 %best
  %r = select i1 %x.nan, i32 %y, i32 %a
  ret i32 %r
}

define i32 @fminf(i32 %x, i32 %y) nounwind section ".text.fminf" {
  %x.abs = and i32 %x, 2147483647
  %y.abs = and i32 %y, 2147483647
  %x.nan = icmp ugt i32 %x.abs, 2139095040
  %y.nan = icmp ugt i32 %y.abs, 2139095040
  %x.sign = ashr i32 %x, 31
  %y.sign = ashr i32 %y, 31
  %x.flip = and i32 %x.sign, 2147483647
  %y.flip = and i32 %y.sign, 2147483647
  %x.order = xor i32 %x, %x.flip
  %y.order = xor i32 %y, %y.flip
  %first = icmp sle i32 %x.order, %y.order
  %best = select i1 %first, i32 %x, i32 %y
  %a = select i1 %y.nan, i32 %x, i32 %best
  %r = select i1 %x.nan, i32 %y, i32 %a
  ret i32 %r
}

; The root of a number, a bit at a time.
define i32 @sqrtf(i32 %x) nounwind section ".text.sqrtf" {
entry:
  %abs = and i32 %x, 2147483647
  %zero = icmp eq i32 %abs, 0
  br i1 %zero, label %same, label %some
same:
  ret i32 %x
some:
  %above = icmp ugt i32 %abs, 2139095040
  %negative = icmp slt i32 %x, 0
  %bad = or i1 %above, %negative
  br i1 %bad, label %nan, label %number
nan:
  ret i32 2143289344
number:
  %infinite = icmp eq i32 %abs, 2139095040
  br i1 %infinite, label %same, label %finite
finite:
  %both = call { i32, i32 } @normal(i32 %x)
  %e = extractvalue { i32, i32 } %both, 0
  %m = extractvalue { i32, i32 } %both, 1
  %e.plus = add i32 %e, 127
  %half = ashr i32 %e.plus, 1
  %odd = and i32 %e.plus, 1
  %start = shl i32 %m, %odd
  br label %loop
loop:
  %i = phi i32 [ 0, %finite ], [ %i.next, %loop ]
  %r = phi i32 [ %start, %finite ], [ %r.next, %loop ]
  %q = phi i32 [ 0, %finite ], [ %q.next, %loop ]
  %bit = phi i32 [ 16777216, %finite ], [ %bit.next, %loop ]
  %r.twice = shl i32 %r, 1
  %trial = add i32 %q, %bit
  %fits = icmp uge i32 %r.twice, %trial
  %left = sub i32 %r.twice, %trial
  %q.more = add i32 %trial, %bit
  %r.next = select i1 %fits, i32 %left, i32 %r.twice
  %q.next = select i1 %fits, i32 %q.more, i32 %q
  %bit.next = lshr i32 %bit, 1
  %i.next = add i32 %i, 1
  %done = icmp eq i32 %bit.next, 0
  br i1 %done, label %end, label %loop
end:
  %whole = shl i32 %q.next, 1
  %rest = icmp ne i32 %r.next, 0
  %last = zext i1 %rest to i32
  %root = or i32 %whole, %last
  %packed = call i32 @pack(i32 0, i32 %half, i32 %root)
  ret i32 %packed
}

declare i64 @xtc_umull(i32, i32)
declare i32 @llvm.ctlz.i32(i32, i1)
declare i32 @llvm.umin.i32(i32, i32)
declare i32 @llvm.umax.i32(i32, i32)
