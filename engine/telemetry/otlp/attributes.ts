/** Attributes as OTLP has them (opentelemetry/proto/common/v1/common.proto), in spans, log records and resources. */
import type { FieldSink } from '#engine/contract/access-log.ts'
import type { ResourceAttributes } from '#engine/contract/otlp.ts'
import { BYTES, ProtobufWriter, tag, VARINT } from '#engine/kit/protobuf-writer.ts'

/** Of one span or log record. Attributes without room in it are counted as dropped. */
const ITEM_BYTES_MAX = 64 * 1024
/** Longest value of an attribute; what is longer is cut. */
const TEXT_BYTES_MAX = 16 * 1024
/** Tags, lengths and numbers of one field. */
export const SLACK_BYTES = 32

const KEY = tag(1, BYTES)
const VALUE = tag(2, BYTES)
const STRING_VALUE = tag(1, BYTES)
const BOOL_VALUE = tag(2, VARINT)
const INT_VALUE = tag(3, VARINT)
const DOUBLE_VALUE = tag(4, 1)
const ARRAY_VALUE = tag(5, BYTES)
/** ArrayValue.values */
const VALUES = tag(1, BYTES)

export type AttributeValue = string | number | boolean | readonly string[]

/** The name of an attribute as it is written. */
export class AttributeKey {
  readonly name: string
  readonly bytes: Buffer
  readonly isDouble: boolean

  /** `isDouble`: the conventions have it as a double, so that a whole number is one, too. */
  constructor(name: string, isDouble = false) {
    this.name = name
    this.isDouble = isDouble
    const text = Buffer.from(name)
    const length: number[] = []
    for (let rest = text.length; ; rest >>>= 7) {
      length.push(rest > 127 ? (rest & 127) | 128 : rest)
      if (rest <= 127) break
    }
    this.bytes = Buffer.concat([Buffer.from([KEY, ...length]), text])
  }
}

/** Writes one item after the other: its attributes here, its other fields in the class of its kind. */
export class AttributeWriter implements FieldSink {
  protected readonly out = new ProtobufWriter(ITEM_BYTES_MAX, TEXT_BYTES_MAX)
  readonly #fieldTag: number
  readonly #droppedTag: number
  #dropped = 0

  /** Tags of the fields `attributes` and `dropped_attributes_count`. */
  protected constructor(fieldTag: number, droppedTag: number) {
    this.#fieldTag = fieldTag
    this.#droppedTag = droppedTag
  }

  protected reset(): void {
    this.out.reset()
    this.#dropped = 0
  }

  attribute(key: AttributeKey, value: AttributeValue): boolean {
    const { out } = this
    if (!out.hasRoom(key.bytes.length + roomOf(out, value) + SLACK_BYTES)) {
      this.#dropped++
      return false
    }
    out.byte(this.#fieldTag)
    const start = out.beginLength()
    out.bytes(key.bytes)
    out.byte(VALUE)
    writeAnyValue(out, value, key.isDouble)
    out.endLength(start)
    return true
  }

  /** For attributes whose names are known only now. */
  add(name: string, value: string | number | boolean | null): boolean {
    return this.attribute(new AttributeKey(name), value ?? 'null')
  }

  /** Attributes that `encodeAttributes` has made. */
  encoded(attributes: Buffer): void {
    if (this.out.hasRoom(attributes.length + SLACK_BYTES)) this.out.bytes(attributes)
    else this.#dropped++
  }

  /** Bytes of the item so far. */
  get length(): number {
    return this.out.at
  }

  /** What has been written since the item was that long. */
  copyFrom(start: number): Buffer {
    return Buffer.from(this.out.written.subarray(start))
  }

  /** The item, valid until the next one begins. */
  end(): Buffer {
    const { out } = this
    if (this.#dropped > 0 && out.hasRoom(SLACK_BYTES)) {
      out.byte(this.#droppedTag)
      out.varint(this.#dropped)
    }
    return out.written
  }

  /** Goes on with what `end` has returned. */
  resume(item: Buffer): void {
    this.reset()
    this.out.bytes(item)
  }
}

/** Bytes that a value may take, at most. */
function roomOf(out: ProtobufWriter, value: AttributeValue): number {
  if (typeof value === 'string') return out.room(value)
  if (typeof value !== 'object') return 0
  let bytes = 0
  for (const text of value) bytes += out.room(text) + SLACK_BYTES
  return bytes
}

/** AnyValue with its length; the tag of its field has been written. `isDouble`: as of AttributeKey. */
export function writeAnyValue(out: ProtobufWriter, value: AttributeValue, isDouble = false): void {
  const start = out.beginLength()
  if (typeof value === 'string') {
    out.byte(STRING_VALUE)
    out.text(value)
  } else if (typeof value === 'boolean') {
    out.byte(BOOL_VALUE)
    out.byte(value ? 1 : 0)
  } else if (typeof value === 'object') {
    out.byte(ARRAY_VALUE)
    const array = out.beginLength()
    for (const text of value) {
      out.byte(VALUES)
      writeAnyValue(out, text)
    }
    out.endLength(array)
  } else if (!isDouble && Number.isSafeInteger(value)) {
    out.byte(INT_VALUE)
    out.int64(value)
  } else {
    out.byte(DOUBLE_VALUE)
    out.double(value)
  }
  out.endLength(start)
}

/** Attributes that are the same for many items; `fieldTag`: of the field `attributes` there, or in a resource. */
export function encodeAttributes(attributes: ResourceAttributes, fieldTag: number): Buffer {
  const bytes = attributes.reduce((sum, [name, value]) => sum + (name.length + String(value).length) * 3 + 64, 0)
  const out = new ProtobufWriter(bytes, TEXT_BYTES_MAX)
  for (const [name, value] of attributes) {
    out.byte(fieldTag)
    const start = out.beginLength()
    out.bytes(new AttributeKey(name).bytes)
    out.byte(VALUE)
    writeAnyValue(out, value)
    out.endLength(start)
  }
  return Buffer.from(out.written)
}

export type Attribute<T> = readonly [name: string, read: (of: T) => AttributeValue | undefined, type?: 'double']

const keyOf = <T>([name, , type]: Attribute<T>): AttributeKey => new AttributeKey(name, type === 'double')

/** Attributes that are not left out, ready to be written. */
export function compileAttributes<T>(
  attributes: readonly Attribute<T>[],
  skip: ReadonlySet<string>
): (of: T, out: AttributeWriter) => void {
  const kept = attributes.filter(([name]) => !skip.has(name))
  const keys = kept.map(keyOf)
  const readers = kept.map(([, read]) => read)
  return (of, out) => {
    for (let i = 0; i < keys.length; i++) {
      const value = readers[i]!(of)
      if (value !== undefined) out.attribute(keys[i]!, value)
    }
  }
}

/** What is longer is not kept for the next item. */
const KEPT_BYTES_MAX = 2048

/**
 * As compileAttributes, for attributes that most items share with the one before: as long as they are what they
 * were, their bytes are copied.
 */
export function compileStableAttributes<T>(
  attributes: readonly Attribute<T>[],
  skip: ReadonlySet<string>
): (of: T, out: AttributeWriter) => void {
  const kept = attributes.filter(([name]) => !skip.has(name))
  const keys = kept.map(keyOf)
  const readers = kept.map(([, read]) => read)
  const values: (AttributeValue | undefined)[] = kept.map(() => undefined)
  let bytes: Buffer | null = Buffer.alloc(0)
  return (of, out) => {
    let isSame = bytes !== null
    for (let i = 0; i < readers.length; i++) {
      const value = readers[i]!(of)
      if (value === values[i]) continue
      values[i] = value
      isSame = false
    }
    if (isSame) {
      out.encoded(bytes!)
      return
    }
    const start = out.length
    for (let i = 0; i < keys.length; i++) if (values[i] !== undefined) out.attribute(keys[i]!, values[i]!)
    bytes = out.length - start > KEPT_BYTES_MAX ? null : out.copyFrom(start)
  }
}
