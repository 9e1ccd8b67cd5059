/** Why there is no answer to a like question: one of the two that are asked has none. */
export class Unavailable extends Error {
  /** It is to be left alone for a while. */
  readonly isFault: boolean

  /** `message`: for the log; nothing of what was sent or received. */
  constructor(message: string, isFault = true) {
    super(message)
    this.isFault = isFault
  }
}
