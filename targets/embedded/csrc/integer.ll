; SPDX-License-Identifier: Apache-2.0
; Quotients and remainders by the names of Arm's run-time ABI (IHI 0043, 4.3.1), a bit at a time.

define { i32, i32 } @__aeabi_uidivmod(i32 %n, i32 %d) nounwind section ".text.__aeabi_uidivmod" {
entry:
  %lz.n = call i32 @llvm.ctlz.i32(i32 %n, i1 false)
  %lz.d = call i32 @llvm.ctlz.i32(i32 %d, i1 false)
  %some = icmp uge i32 %lz.d, %lz.n
  %zero = icmp eq i32 %d, 0
  %not.zero = xor i1 %zero, true
  %go = and i1 %some, %not.zero
  br i1 %go, label %start, label %none
none:
  %n0 = insertvalue { i32, i32 } { i32 0, i32 poison }, i32 %n, 1
  ret { i32, i32 } %n0
start:
  %shift = sub i32 %lz.d, %lz.n
  br label %loop
loop:
  %i = phi i32 [ %shift, %start ], [ %i.next, %loop ]
  %r = phi i32 [ %n, %start ], [ %r.next, %loop ]
  %q = phi i32 [ 0, %start ], [ %q.next, %loop ]
  %part = shl i32 %d, %i
  %fits = icmp uge i32 %r, %part
  %less = sub i32 %r, %part
  %r.next = select i1 %fits, i32 %less, i32 %r
  %bit = zext i1 %fits to i32
  %q.twice = shl i32 %q, 1
  %q.next = or i32 %q.twice, %bit
  %i.next = add i32 %i, -1
  %done = icmp eq i32 %i, 0
  br i1 %done, label %end, label %loop
end:
  %a = insertvalue { i32, i32 } poison, i32 %q.next, 0
  %b = insertvalue { i32, i32 } %a, i32 %r.next, 1
  ret { i32, i32 } %b
}

define i32 @__aeabi_uidiv(i32 %n, i32 %d) nounwind section ".text.__aeabi_uidiv" {
  %both = call { i32, i32 } @__aeabi_uidivmod(i32 %n, i32 %d)
  %q = extractvalue { i32, i32 } %both, 0
  ret i32 %q
}

define { i32, i32 } @__aeabi_idivmod(i32 %n, i32 %d) nounwind section ".text.__aeabi_idivmod" {
  %n.sign = ashr i32 %n, 31
  %d.sign = ashr i32 %d, 31
  %n.flip = xor i32 %n, %n.sign
  %n.abs = sub i32 %n.flip, %n.sign
  %d.flip = xor i32 %d, %d.sign
  %d.abs = sub i32 %d.flip, %d.sign
  %both = call { i32, i32 } @__aeabi_uidivmod(i32 %n.abs, i32 %d.abs)
  %q = extractvalue { i32, i32 } %both, 0
  %r = extractvalue { i32, i32 } %both, 1
  %q.sign = xor i32 %n.sign, %d.sign
  %q.flip = xor i32 %q, %q.sign
  %q.done = sub i32 %q.flip, %q.sign
  %r.flip = xor i32 %r, %n.sign
  %r.done = sub i32 %r.flip, %n.sign
  %a = insertvalue { i32, i32 } poison, i32 %q.done, 0
  %b = insertvalue { i32, i32 } %a, i32 %r.done, 1
  ret { i32, i32 } %b
}

define i32 @__aeabi_idiv(i32 %n, i32 %d) nounwind section ".text.__aeabi_idiv" {
  %both = call { i32, i32 } @__aeabi_idivmod(i32 %n, i32 %d)
  %q = extractvalue { i32, i32 } %both, 0
  ret i32 %q
}

define { i64, i64 } @__aeabi_uldivmod(i64 %n, i64 %d) nounwind section ".text.__aeabi_uldivmod" {
entry:
  br label %loop
loop:
  %i = phi i32 [ 64, %entry ], [ %i.next, %loop ]
  %x = phi i64 [ %n, %entry ], [ %x.next, %loop ]
  %r = phi i64 [ 0, %entry ], [ %r.next, %loop ]
  %top = lshr i64 %x, 63
  %carry = lshr i64 %r, 63
  %r.twice = shl i64 %r, 1
  %r.new = or i64 %r.twice, %top
  %x.twice = shl i64 %x, 1
  %over = icmp ne i64 %carry, 0
  %fits = icmp uge i64 %r.new, %d
  %take = or i1 %over, %fits
  %less = sub i64 %r.new, %d
  %r.next = select i1 %take, i64 %less, i64 %r.new
  %bit = zext i1 %take to i64
  %x.next = or i64 %x.twice, %bit
  %i.next = add i32 %i, -1
  %done = icmp eq i32 %i.next, 0
  br i1 %done, label %end, label %loop
end:
  %a = insertvalue { i64, i64 } poison, i64 %x.next, 0
  %b = insertvalue { i64, i64 } %a, i64 %r.next, 1
  ret { i64, i64 } %b
}

define { i64, i64 } @__aeabi_ldivmod(i64 %n, i64 %d) nounwind section ".text.__aeabi_ldivmod" {
  %n.sign = ashr i64 %n, 63
  %d.sign = ashr i64 %d, 63
  %n.flip = xor i64 %n, %n.sign
  %n.abs = sub i64 %n.flip, %n.sign
  %d.flip = xor i64 %d, %d.sign
  %d.abs = sub i64 %d.flip, %d.sign
  %both = call { i64, i64 } @__aeabi_uldivmod(i64 %n.abs, i64 %d.abs)
  %q = extractvalue { i64, i64 } %both, 0
  %r = extractvalue { i64, i64 } %both, 1
  %q.sign = xor i64 %n.sign, %d.sign
  %q.flip = xor i64 %q, %q.sign
  %q.done = sub i64 %q.flip, %q.sign
  %r.flip = xor i64 %r, %n.sign
  %r.done = sub i64 %r.flip, %n.sign
  %a = insertvalue { i64, i64 } poison, i64 %q.done, 0
  %b = insertvalue { i64, i64 } %a, i64 %r.done, 1
  ret { i64, i64 } %b
}

declare i32 @llvm.ctlz.i32(i32, i1)
