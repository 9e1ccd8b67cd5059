/**
 * llhttp, as a WebAssembly build (llhttp-binary.ts): one instance per thread, with the parsers that it has made.
 *
 * It parses in place, in the memory that sockets read into (engine/socket/memory.ts), and its header callbacks only
 * note offsets (header-table.ts). What it reports of a message: llhttp-parser.ts.
 */

import { ReadMemory } from '#engine/socket/memory.ts'
import * as table from './header-table.ts'
import type { HeaderBlock } from './headers.ts'
import { binary } from './llhttp-binary.ts'
import { callbacks, type MessageHandler, Parser, type Wasm } from './llhttp-parser.ts'
import { instantiate } from './webassembly.ts'

export const REQUEST = 1
export const RESPONSE = 2

/** Room for parser states, taken up front so that the memory never grows (growth detaches views). */
const PARSER_BYTES = 32 * 1024 * 1024
/**
 * Connections of each type that may have a parser at once on one thread; a state is about 70 bytes plus
 * malloc's overhead. Counted apart: a flood of clients must not take the parsers of the backends.
 */
const PARSERS_MAX = 131_072

/** The thread's instance: memory and parsers. */
export class Llhttp {
  readonly memory: ReadMemory
  readonly #wasm: Wasm
  readonly #slots: Int32Array
  readonly #idle: { [type: number]: Parser[] } = { [REQUEST]: [], [RESPONSE]: [] }
  readonly #made: { [type: number]: number } = { [REQUEST]: 0, [RESPONSE]: 0 }

  constructor() {
    const fields = table.makeHeaderTable({ field: callbacks.onTrailerField, value: callbacks.onTrailerValue })
    this.#slots = fields.slots
    this.#wasm = load(fields)
    const base = this.#wasm.malloc(ReadMemory.size)
    this.#wasm.free(this.#wasm.malloc(PARSER_BYTES))
    this.memory = new ReadMemory(this.#wasm.memory.buffer, base)
  }

  /** A parser for one message after the other, or null when PARSERS_MAX of its type are busy. */
  acquire(type: typeof REQUEST | typeof RESPONSE, handler: MessageHandler, block: HeaderBlock): Parser | null {
    let parser = this.#idle[type]!.pop()
    if (parser === undefined) {
      if (this.#made[type]! >= PARSERS_MAX) return null
      this.#made[type]!++
      parser = new Parser(this.#wasm.llhttp_alloc(type), this.#wasm, this.memory, this.#slots)
    }
    parser.reset(handler, block)
    return parser
  }

  /** Parsers in use. */
  get busy(): number {
    return this.#made[REQUEST]! - this.#idle[REQUEST]!.length + this.#made[RESPONSE]! - this.#idle[RESPONSE]!.length
  }

  release(type: typeof REQUEST | typeof RESPONSE, parser: Parser): void {
    parser.handler = null
    parser.block = null
    this.#idle[type]!.push(parser)
  }
}

let shared: Llhttp | null = null

/** The instance of this thread, made on first use. */
export function llhttp(): Llhttp {
  shared ??= new Llhttp()
  return shared
}

function load(fields: table.HeaderTable): Wasm {
  const imports = {
    wasm_on_message_begin: fields.onPoint,
    wasm_on_url: fields.onTarget,
    wasm_on_status: fields.onSpan,
    wasm_on_header_field: fields.onField,
    wasm_on_header_value: fields.onValue,
    wasm_on_headers_complete: callbacks.onHeadersComplete,
    wasm_on_body: callbacks.onBody,
    wasm_on_message_complete: callbacks.onMessageComplete
  }
  return instantiate(new Uint8Array(binary), { env: imports })
}
