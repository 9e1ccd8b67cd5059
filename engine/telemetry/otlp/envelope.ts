/**
 * What surrounds the items of an Export request: the resource that they come from, and the instrumentation that made
 * them. All signals have the same three levels with the same field numbers.
 */
import type { ResourceAttributes } from '#engine/contract/otlp.ts'
import { BYTES, ProtobufWriter, tag } from '#engine/kit/protobuf-writer.ts'
import { encodeAttributes } from './attributes.ts'

/** Export*ServiceRequest.resource_spans (logs, metrics); Resource*.resource; Scope*.scope; Resource.attributes. */
const FIRST = tag(1, BYTES)
/** Resource*.scope_spans (logs, metrics); Scope*.spans (log_records, metrics). */
const SECOND = tag(2, BYTES)
/** Resource*.schema_url and Scope*.schema_url. */
const SCHEMA_URL = tag(3, BYTES)
/** Names of attributes are those of this version. */
const SCHEMA = 'https://opentelemetry.io/schemas/1.41.0'
/** A tag and a length. */
const HEAD_BYTES_MAX = 6

/** The tag of one item, in front of its length. */
export const ITEM = SECOND

export class Envelope {
  /** Bytes that are kept free ahead of the items. */
  readonly roomBytes: number
  readonly #resource: Buffer
  readonly #scope: Buffer

  constructor(resource: ResourceAttributes, scopeName: string, scopeVersion: string) {
    this.#resource = field(FIRST, encodeAttributes(resource, FIRST))
    const name = field(FIRST, Buffer.from(scopeName))
    const scope = field(FIRST, Buffer.concat([name, field(SECOND, Buffer.from(scopeVersion))]))
    this.#scope = Buffer.concat([scope, field(SCHEMA_URL, Buffer.from(SCHEMA))])
    this.roomBytes = this.#resource.length + this.#scope.length + 2 * HEAD_BYTES_MAX
  }

  /** The request with the items in buffer[roomBytes, end), without a copy of them. */
  close(buffer: Buffer, end: number): Buffer {
    const items = end - this.roomBytes
    const scoped = head(SECOND, this.#scope.length + items)
    const outer = head(FIRST, this.#resource.length + scoped.length + this.#scope.length + items)
    const parts = [outer, this.#resource, scoped, this.#scope]
    let at = this.roomBytes - parts.reduce((sum, part) => sum + part.length, 0)
    const start = at
    for (const part of parts) {
      buffer.set(part, at)
      at += part.length
    }
    return buffer.subarray(start, end)
  }
}

function head(fieldTag: number, length: number): Buffer {
  const out = new ProtobufWriter(HEAD_BYTES_MAX, 0)
  out.byte(fieldTag)
  out.varint(length)
  return out.written
}

function field(fieldTag: number, bytes: Buffer): Buffer {
  return Buffer.concat([head(fieldTag, bytes.length), bytes])
}
