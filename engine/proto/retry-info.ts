/** google.rpc.RetryInfo in the details of a grpc-status (google/rpc/error_details.proto): its one field is read. */
import { BinaryReader } from '@bufbuild/protobuf/wire'
import { Duration } from './generated/google/protobuf/duration.ts'
import { Status } from './generated/google/rpc/status.ts'

const TYPE = 'type.googleapis.com/google.rpc.RetryInfo'
/** Field 1, with a length. */
const RETRY_DELAY_TAG = 10

/** `details`: a google.rpc.Status. Null: it does not say when to come again, or cannot be read. */
export function retryDelayMs(details: Uint8Array): number | null {
  try {
    const info = Status.decode(details).details.find(({ typeUrl }) => typeUrl === TYPE)
    return info === undefined ? null : delayOf(info.value)
  } catch {
    return null // The decoder throws at what is no message.
  }
}

function delayOf(retryInfo: Uint8Array): number {
  const reader = new BinaryReader(retryInfo)
  let delayMs = 0
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    if (tag === RETRY_DELAY_TAG) {
      const { seconds, nanos } = Duration.decode(reader, reader.uint32())
      delayMs = Number(seconds) * 1000 + nanos / 1e6
    } else reader.skip(tag & 7)
  }
  return delayMs
}
