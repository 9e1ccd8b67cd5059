/**
 * The part of the WebAssembly API used here (@types/node leaves it to the DOM library), and the words in
 * which modules are written in TypeScript (WebAssembly Core Specification 1.0, section 5).
 */

/** Memory that threads share: it travels in workerData, its buffer is the same bytes in every thread. */
export interface SharedMemory {
  readonly buffer: SharedArrayBuffer
}

declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown }
  readonly Memory: new (limits: { initial: number; maximum: number; shared: true }) => SharedMemory
}

const PAGE_BYTES = 65_536

/** A new instance of a module, and what it exports. `Exports` is the caller's knowledge of the module. */
export function instantiate<Exports>(bytes: Uint8Array, imports: Readonly<Record<string, object>>): Exports {
  return new WebAssembly.Instance(new WebAssembly.Module(bytes), imports).exports as Exports
}

/** Zeroed memory of at least `bytes`; the system gives its pages when they are first written. */
export function sharedMemory(bytes: number): SharedMemory {
  const pages = Math.ceil(bytes / PAGE_BYTES)
  return new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true })
}

export type Code = readonly number[]

/** Magic and version: the first bytes of every module. */
export const PREAMBLE: Code = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0]
export const I32 = 0x7f
export const I64 = 0x7e

export function section(id: number, entries: readonly Code[]): Code {
  const bytes = [...unsigned(entries.length), ...entries.flat()]
  return [id, ...unsigned(bytes.length), ...bytes]
}

/** `locals`: how many of which type, beside the parameters. */
export function body(locals: readonly (readonly [count: number, type: number])[], code: Code): Code {
  const bytes = [locals.length, ...locals.flat(), ...code, 0x0b]
  return [...unsigned(bytes.length), ...bytes]
}

export function text(value: string): Code {
  return [value.length, ...Buffer.from(value, 'latin1')]
}

/** LEB128. */
export function unsigned(value: number): Code {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)]
}

/** LEB128 of a number with sign, 32 bits. */
export function signed(value: number): Code {
  const rest = value >> 7
  const isLast = (rest === 0 && (value & 64) === 0) || (rest === -1 && (value & 64) !== 0)
  return isLast ? [value & 127] : [(value & 127) | 128, ...signed(rest)]
}
