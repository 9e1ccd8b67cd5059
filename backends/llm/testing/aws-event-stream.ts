/** Messages of AWS event streams, for mock providers, clients of Converse and tests. */
import { crc32 } from 'node:zlib'
import { CRC, type Headers, type HeaderValue, PRELUDE } from '#backends/llm/stream/aws-event-stream.ts'

/** A message with these headers and this payload. */
export function encodeMessage(headers: Headers, payload: string | Uint8Array): Buffer {
  const head = Buffer.concat([...headers].map(([name, value]) => encodeHeader(name, value)))
  const body = typeof payload === 'string' ? Buffer.from(payload) : payload
  const message = Buffer.allocUnsafe(PRELUDE + head.length + body.length + CRC)
  message.writeUInt32BE(message.length, 0)
  message.writeUInt32BE(head.length, 4)
  message.writeUInt32BE(crc32(message.subarray(0, 8)), 8)
  head.copy(message, PRELUDE)
  message.set(body, PRELUDE + head.length)
  message.writeUInt32BE(crc32(message.subarray(0, message.length - CRC)), message.length - CRC)
  return message
}

function encodeHeader(name: string, header: HeaderValue): Buffer {
  const bytes = Buffer.from(name)
  if (bytes.length === 0 || bytes.length > 255) throw new RangeError('a header name has 1 to 255 bytes')
  return Buffer.concat([Buffer.of(bytes.length), bytes, encodeValue(header)])
}

function encodeValue(header: HeaderValue): Buffer {
  const fixed = Buffer.alloc(9)
  switch (header.type) {
    case 'boolean':
      return Buffer.of(header.value ? 0 : 1)
    case 'byte':
      fixed.writeInt8(header.value, fixed.writeUInt8(2))
      return fixed.subarray(0, 2)
    case 'short':
      fixed.writeInt16BE(header.value, fixed.writeUInt8(3))
      return fixed.subarray(0, 3)
    case 'integer':
      fixed.writeInt32BE(header.value, fixed.writeUInt8(4))
      return fixed.subarray(0, 5)
    case 'long':
    case 'timestamp':
      fixed.writeBigInt64BE(header.value, fixed.writeUInt8(header.type === 'long' ? 5 : 8))
      return fixed
    case 'uuid':
      return Buffer.concat([Buffer.of(9), Buffer.from(header.value.replaceAll('-', ''), 'hex')])
    default: {
      const bytes = Buffer.from(header.value)
      if (bytes.length > 0xffff) throw new RangeError('a header value has at most 65,535 bytes')
      return Buffer.concat([Buffer.of(header.type === 'binary' ? 6 : 7, bytes.length >> 8, bytes.length & 255), bytes])
    }
  }
}

/** A message as Bedrock and SageMaker send it: `payload`, JSON as a rule, under the name of its event or exception. */
export function encodeEvent(kind: 'event' | 'exception', name: string, payload: string | Uint8Array): Buffer {
  const text = (value: string): HeaderValue => ({ type: 'string', value })
  const headers: [string, HeaderValue][] = [
    [`:${kind}-type`, text(name)],
    [':content-type', text('application/json')],
    [':message-type', text(kind)]
  ]
  return encodeMessage(new Map(headers), payload)
}

/** The text of the Converse stream writer as messages: each line is an object of one member, named like its event. */
export function frameEvents(lines: string): Buffer {
  const messages: Buffer[] = []
  for (const line of lines.split('\n')) {
    if (line === '') continue
    const nameEnd = line.indexOf('"', 2)
    const name = line.slice(2, nameEnd)
    const kind = name.endsWith('Exception') ? 'exception' : 'event'
    messages.push(encodeEvent(kind, name, line.slice(nameEnd + 2, -1)))
  }
  return messages.length === 1 ? messages[0]! : Buffer.concat(messages)
}
