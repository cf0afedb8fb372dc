# Debug information that no compiler writes: types that contain themselves, and references that lead back.
    .text
    .globl main
main:
    xorl %eax, %eax
    ret

    .data
    .globl twice, alias, origin
    .type twice, @object
    .size twice, 8
twice: .quad 0
    .type alias, @object
    .size alias, 8
alias: .quad 0
    .type origin, @object
    .size origin, 8
origin: .quad 0

    .section .debug_abbrev, "", @progbits
    .uleb128 1, 0x11        # compile unit
    .byte 1
    .uleb128 0, 0
    .uleb128 2, 0x13        # structure: size
    .byte 1
    .uleb128 0x0b, 0x0b, 0, 0
    .uleb128 3, 0x0d        # member: name, type, place
    .byte 0
    .uleb128 0x03, 0x08, 0x49, 0x13, 0x38, 0x0b, 0, 0
    .uleb128 4, 0x16        # typedef: type
    .byte 0
    .uleb128 0x49, 0x13, 0, 0
    .uleb128 5, 0x34        # variable: name, type, location
    .byte 0
    .uleb128 0x03, 0x08, 0x49, 0x13, 0x02, 0x18, 0, 0
    .uleb128 6, 0x34        # variable: abstract origin, location
    .byte 0
    .uleb128 0x31, 0x13, 0x02, 0x18, 0, 0
    .byte 0

    .section .debug_info, "", @progbits
unit:
    .long end - start
start:
    .short 4                # version
    .long 0                 # abbreviations
    .byte 8                 # bytes of an address
    .uleb128 1
structure:
    .uleb128 2
    .byte 8
    .uleb128 3
    .asciz "left"
    .long structure - unit
    .byte 0
    .uleb128 3
    .asciz "right"
    .long structure - unit
    .byte 0
    .byte 0
typedef:
    .uleb128 4
    .long typedef - unit
    .uleb128 5
    .asciz "twice"
    .long structure - unit
    .byte 9, 3
    .quad twice
    .uleb128 5
    .asciz "alias"
    .long typedef - unit
    .byte 9, 3
    .quad alias
itself:
    .uleb128 6
    .long itself - unit
    .byte 9, 3
    .quad origin
    .byte 0
end:
    .section .note.GNU-stack, "", @progbits
