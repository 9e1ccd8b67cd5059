import type { BodyStream } from './body-stream.ts'

/** How far one side is. */
export class Progress {
  /** The service has replaced its body: nothing more of it is sent. */
  isReplaced = false
  isOver = false
  stream: BodyStream | null = null
}
