//! Writes the hooks that compilers left out into their assembly.
//!
//! Code around such an access expects every register, the flags and the stack as they were. So a hook here is no call as in C: what it gets is on
//! the stack, from the top: flags ([`OF_THREAD`], [`WIDE`]) and bytes; a value, of a store or of an atomic operation, which returns
//! what was there before; and the register with the address, as it was.

use super::{
    coverage::{Access, Unhooked, by_function, general_register_name, is_function, is_of_clang},
    library_calls,
    operands::{Displacement, Memory, Operand},
    statements::{Kind, Statement},
};
use iced_x86::{Instruction, Mnemonic, OpKind, Register};
use std::{collections::HashSet, fmt::Write};

/// How names of these hooks begin.
const HOOK: &str = "__reweave_unhooked_";
/// The address is relative to the thread's variables.
const OF_THREAD: usize = 1 << 16;
/// Registers of more than 16 bytes are in use.
const WIDE: usize = 1 << 17;
/// Bytes below the stack pointer that a function without calls may use.
const RED_ZONE: usize = 128;

/// Writes the text again, with a hook for each access that has none.
pub(super) fn write(
    statements: &[Statement<'_>],
    instructions: &[Option<Instruction>],
    unhooked: &[Option<Unhooked<'_>>],
) -> String {
    let leaves = leaves(statements, instructions);
    let mut writer = Writer {
        text: String::new(),
        frame: Frames::default(),
        leaf: false,
        wide: statements.iter().any(uses_wide_registers),
        clang: statements.iter().any(is_of_clang),
    };
    let mut index = 0;
    while index < statements.len() {
        let statement = &statements[index];
        let labels = statement.labels().0;
        if let Some(label) = labels.iter().rfind(|label| is_function(label)) {
            writer.leaf = leaves.contains(label);
        }
        writer.frame.follow(&statement.kind);
        // An instruction whose prefixes are statements of their own.
        let mut end = index;
        while end + 1 < statements.len() && statements[end].kind == Kind::Prefix {
            end += 1;
        }
        if let Some(instruction) = &instructions[index] {
            writer.instruction(&statements[index..=end], instruction, unhooked[index]);
        } else {
            end = index;
            writer.line(statement.text);
        }
        index = end + 1;
    }
    writer.text
}

struct Writer {
    text: String,
    frame: Frames,
    /// The function calls nothing, so it may use what lies below its stack.
    leaf: bool,
    wide: bool,
    /// The text is clang's, which leaves a load beside its hook for an atomic one. That races with no atomic operation.
    clang: bool,
}

/// A call of a hook.
struct Call<'a> {
    name: &'a str,
    memory: Option<Memory<'a>>,
    bytes: usize,
    /// What is pushed as the value.
    value: String,
}

impl<'a> Call<'a> {
    fn new(name: &'a str, access: &Access<'a>) -> Call<'a> {
        Call {
            name,
            memory: Some(access.memory),
            bytes: access.bytes,
            value: "$0".into(),
        }
    }

    /// Of a hook that needs no address.
    fn plain(name: &'a str, bytes: usize) -> Call<'a> {
        Call {
            name,
            memory: None,
            bytes,
            value: "$0".into(),
        }
    }
}

impl Writer {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// An instruction, and what has to come before it or instead of it.
    fn instruction(
        &mut self,
        statements: &[Statement<'_>],
        instruction: &Instruction,
        unhooked: Option<Unhooked<'_>>,
    ) {
        let by_hand = statements[0].by_hand;
        let last = &statements[statements.len() - 1];
        for label in statements.iter().flat_map(|it| it.labels().0) {
            let _ = writeln!(self.text, "{label}:");
        }
        let mut keep = true;
        self.library_call(last, instruction);
        match (instruction.mnemonic(), unhooked) {
            (Mnemonic::Mfence, _) => self.hook(&Call::plain("fence", 0)),
            (Mnemonic::Syscall, _) if by_hand => {
                self.hook(&Call::plain("syscall", 0));
                keep = false;
            }
            (_, None) => {}
            (_, Some(Unhooked::Unknown)) => self.hook(&Call::plain("unknown", 0)),
            (
                _,
                Some(Unhooked::Blocks {
                    element,
                    reads,
                    writes,
                    repeated,
                }),
            ) => {
                let name = match (reads, writes, repeated) {
                    (true, true, false) => "move",
                    (true, true, true) => "moves",
                    (false, _, false) => "fill",
                    (false, _, true) => "fills",
                    (true, false, false) => "take",
                    (true, false, true) => "takes",
                };
                self.hook(&Call::plain(name, element));
            }
            (_, Some(Unhooked::Access(access))) => {
                keep = self.access(last, instruction, access, by_hand);
            }
        }
        if keep {
            for statement in statements {
                self.line(statement.labels().1);
            }
        }
    }

    /// A call of the C++ library, or a jump there at the end of a function.
    fn library_call(&mut self, statement: &Statement<'_>, instruction: &Instruction) {
        let calls = matches!(instruction.mnemonic(), Mnemonic::Call | Mnemonic::Jmp);
        if let (Kind::Instruction { operands, .. }, true) = (&statement.kind, calls)
            && let Some(effect) = library_calls::effect(operands)
        {
            self.hook(&Call {
                name: effect.hook,
                memory: Some(effect.memory),
                bytes: effect.bytes,
                value: "$0".into(),
            });
        }
    }

    /// A hook for an access; whether the instruction has to follow.
    fn access(
        &mut self,
        statement: &Statement<'_>,
        instruction: &Instruction,
        access: Access<'_>,
        by_hand: bool,
    ) -> bool {
        if is_atomic(instruction) {
            return self.atomic(statement, instruction, access);
        }
        let small = matches!(access.bytes, 1 | 2 | 4 | 8);
        if by_hand && small && instruction.mnemonic() == Mnemonic::Mov {
            // What programmers write by hand they mean to be atomic, and it is.
            if access.reads {
                self.hook(&Call::new("load", &access));
                return true;
            }
            if let Some(value) = value_of(statement, instruction) {
                self.hook(&Call {
                    value,
                    ..Call::new("store", &access)
                });
                return true;
            }
        }
        let stack = matches!(access.memory.base, Some("rsp" | "rbp"));
        let loads = matches!(
            instruction.mnemonic(),
            Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd
        );
        let name = match (access.reads, access.writes) {
            (true, false) if self.clang && loads && stack => "stack_peek",
            (true, false) if self.clang && loads => "peek",
            (true, true) if stack => "stack_change",
            (true, false) if stack => "stack_read",
            (_, _) if stack => "stack_write",
            (true, true) => "change",
            (true, false) => "read",
            _ => "write",
        };
        self.hook(&Call::new(name, &access));
        true
    }

    /// An atomic operation: the hook performs it. Registers and flags become what they should by the same instruction on the stack.
    fn atomic(
        &mut self,
        statement: &Statement<'_>,
        instruction: &Instruction,
        access: Access<'_>,
    ) -> bool {
        if is_fence(statement, instruction, &access) {
            self.hook(&Call::plain("fence", 0));
            return false;
        }
        let name = match instruction.mnemonic() {
            Mnemonic::Xchg => "swap",
            Mnemonic::Xadd | Mnemonic::Add | Mnemonic::Inc => "add",
            Mnemonic::Sub | Mnemonic::Dec => "sub",
            Mnemonic::And | Mnemonic::Btr => "and",
            Mnemonic::Or | Mnemonic::Bts => "or",
            Mnemonic::Xor | Mnemonic::Not | Mnemonic::Btc => "xor",
            Mnemonic::Cmpxchg => "compare",
            _ => "",
        };
        let value = match instruction.mnemonic() {
            Mnemonic::Inc | Mnemonic::Dec => Some("$1".into()),
            Mnemonic::Not => Some("$-1".into()),
            Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc => bit_of(instruction, access.bytes),
            _ => value_of(statement, instruction),
        };
        let small = matches!(access.bytes, 1 | 2 | 4 | 8);
        let (Some(value), false, true) = (value, name.is_empty(), small) else {
            self.hook(&Call::plain("unknown", 0));
            return true;
        };
        self.begin(&Call {
            value,
            ..Call::new(name, &access)
        });
        self.line("\tleaq\t8(%rsp), %rsp");
        self.line("\tmovq\t8(%rsp), %rdi");
        let Kind::Instruction { mnemonic, operands } = statement.kind else {
            unreachable!("it was decoded");
        };
        let source = source_text(operands);
        let _ = match (instruction.mnemonic(), source) {
            (Mnemonic::Xchg, Some(source)) => writeln!(self.text, "\tmov\t(%rsp), {source}"),
            (_, Some(source)) => writeln!(self.text, "\t{mnemonic}\t{source}, (%rsp)"),
            (_, None) => writeln!(self.text, "\t{mnemonic}\t(%rsp)"),
        };
        let red = self.red_zone();
        let _ = writeln!(self.text, "\tleaq\t{}(%rsp), %rsp", 16 + red);
        self.frame.moved(&mut self.text, -(24 + red as i64));
        false
    }

    fn red_zone(&self) -> usize {
        if self.leaf { RED_ZONE } else { 0 }
    }

    /// Calls a hook and leaves everything as it was.
    fn hook(&mut self, call: &Call<'_>) {
        self.begin(call);
        self.line("\tleaq\t16(%rsp), %rsp");
        self.line("\tpopq\t%rdi");
        // Nothing is left where a later frame may leave it uninitialised: loops are recognised by their frames.
        self.line("\tmovq\t$0, -8(%rsp)");
        let red = self.red_zone();
        if red > 0 {
            let _ = writeln!(self.text, "\tleaq\t{red}(%rsp), %rsp");
        }
        self.frame.moved(&mut self.text, -(24 + red as i64));
    }

    /// Calls a hook and leaves what it got on the stack.
    fn begin(&mut self, call: &Call<'_>) {
        let red = self.red_zone();
        if red > 0 {
            let _ = writeln!(self.text, "\tleaq\t-{red}(%rsp), %rsp");
        }
        let _ = writeln!(self.text, "\tpushq\t%rdi\n\tpushq\t{}", call.value);
        let mut flags = call.bytes;
        if self.wide {
            flags |= WIDE;
        }
        if let Some(memory) = &call.memory {
            if memory.segment.is_some() {
                flags |= OF_THREAD;
            }
            let operand = moved(memory, red + 16);
            let _ = writeln!(self.text, "\tleaq\t{operand}, %rdi");
        }
        let _ = writeln!(self.text, "\tpushq\t${flags}");
        self.frame.moved(&mut self.text, 24 + red as i64);
        let _ = writeln!(self.text, "\tcall\t{HOOK}{}@PLT", call.name);
    }
}

/// How the text describes the frame to unwinders.
#[derive(Default)]
struct Frames {
    /// Inside of a function that is described.
    described: bool,
    /// The frame is found by the stack pointer, which hooks move.
    by_stack: bool,
    remembered: Vec<bool>,
}

impl Frames {
    fn follow(&mut self, kind: &Kind<'_>) {
        let Kind::Directive { name, arguments } = kind else {
            return;
        };
        let by_stack = |arguments: &str| {
            let register = arguments.split(',').next().unwrap_or_default().trim();
            matches!(register, "7" | "rsp" | "%rsp")
        };
        match *name {
            ".cfi_startproc" => {
                *self = Frames {
                    described: true,
                    by_stack: true,
                    remembered: Vec::new(),
                };
            }
            ".cfi_endproc" => self.described = false,
            ".cfi_def_cfa" | ".cfi_def_cfa_register" => self.by_stack = by_stack(arguments),
            ".cfi_remember_state" => self.remembered.push(self.by_stack),
            ".cfi_restore_state" => {
                self.by_stack = self.remembered.pop().unwrap_or(self.by_stack);
            }
            // By an expression: not by the stack pointer.
            ".cfi_escape" => self.by_stack = false,
            _ => {}
        }
    }

    fn moved(&self, text: &mut String, bytes: i64) {
        if self.described && self.by_stack {
            let _ = writeln!(text, "\t.cfi_adjust_cfa_offset {bytes}");
        }
    }
}

/// The operand after so many bytes were pushed.
fn moved(memory: &Memory<'_>, bytes: usize) -> String {
    let mut text = String::new();
    if memory.base == Some("rsp") {
        let _ = write!(text, "{bytes}+");
        if memory.displacement.is_empty() {
            text.push('0');
        }
    }
    text.push_str(memory.displacement);
    if memory.base.is_none() && memory.index.is_none() {
        return text;
    }
    text.push('(');
    if let Some(base) = memory.base {
        let _ = write!(text, "%{base}");
    }
    if let Some(index) = memory.index {
        let _ = write!(text, ",%{index},{}", memory.scale);
    }
    text.push(')');
    text
}

/// What an instruction combines memory with, to be pushed; `None`: that cannot be.
fn value_of(statement: &Statement<'_>, instruction: &Instruction) -> Option<String> {
    let Kind::Instruction { operands, .. } = statement.kind else {
        return None;
    };
    let operands = Operand::all(operands)?;
    let other = operands
        .iter()
        .find(|operand| !matches!(operand, Operand::Memory(_)))?;
    match other {
        Operand::Immediate(text) => {
            let value = Displacement::read(text)?;
            let small = i32::try_from(value.offset).is_ok();
            (value.symbol.is_none() && small).then(|| format!("${}", value.offset))
        }
        _ => {
            let mut registers = (0..instruction.op_count())
                .filter(|at| instruction.op_kind(*at) == OpKind::Register)
                .map(|at| instruction.op_register(at));
            let register = registers.next()?;
            let high = matches!(
                register,
                Register::AH | Register::BH | Register::CH | Register::DH
            );
            let whole = register.full_register();
            let fits = whole.is_gpr64() && whole != Register::RSP && !high;
            fits.then(|| format!("%{}", general_register_name(whole)))
        }
    }
}

/// What an instruction that changes one bit combines memory with, if the bit is a constant and that can be pushed.
fn bit_of(instruction: &Instruction, bytes: usize) -> Option<String> {
    if instruction.op_kind(1) != OpKind::Immediate8 || !matches!(bytes, 2 | 4 | 8) {
        return None;
    }
    let bit = usize::from(instruction.immediate8()) % (8 * bytes);
    let mask = match instruction.mnemonic() {
        Mnemonic::Btr => !(1_i64 << bit),
        _ => 1_i64 << bit,
    };
    // A word that is pushed is extended by its sign; of narrower ones the rest does not matter.
    let mask = if bytes < 8 {
        i64::from(mask as i32)
    } else {
        mask
    };
    i32::try_from(mask).is_ok().then(|| format!("${mask}"))
}

/// The text of the operand that is not memory.
fn source_text(operands: &str) -> Option<&str> {
    let mut depth = 0;
    let mut parts = operands.split(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts.find_map(|part| {
        let part = part.trim();
        let register = part.starts_with('%') && !part.contains(':');
        (register || part.starts_with('$')).then_some(part)
    })
}

fn is_atomic(instruction: &Instruction) -> bool {
    instruction.has_lock_prefix() || instruction.mnemonic() == Mnemonic::Xchg
}

/// `lock; addl $0, (%rsp)`: an old way to write a fence.
fn is_fence(statement: &Statement<'_>, instruction: &Instruction, access: &Access<'_>) -> bool {
    let nothing = value_of(statement, instruction).as_deref() == Some("$0");
    let kept = matches!(
        instruction.mnemonic(),
        Mnemonic::Add | Mnemonic::Or | Mnemonic::Sub | Mnemonic::Xor
    );
    access.memory.base == Some("rsp") && nothing && kept
}

fn uses_wide_registers(statement: &Statement<'_>) -> bool {
    match statement.kind {
        Kind::Instruction { operands, .. } => {
            operands.contains("%ymm") || operands.contains("%zmm") || operands.contains("%k")
        }
        _ => false,
    }
}

/// Functions without calls.
fn leaves<'a>(
    statements: &[Statement<'a>],
    instructions: &[Option<Instruction>],
) -> HashSet<&'a str> {
    let all = || by_function(statements, instructions);
    let calls = all().filter(|(_, statement, instruction)| {
        let call = instruction.is_some_and(|it| it.mnemonic() == Mnemonic::Call);
        call && !statement.by_hand
    });
    let callers: HashSet<&str> = calls.map(|(function, ..)| function).collect();
    let functions = all().map(|(function, ..)| function);
    functions.filter(|it| !callers.contains(it)).collect()
}
