/** Why there is no answer to a like question: one of the two that are asked has none. */
export class Unavailable extends Error {
  /**
   * `service`: it is to be left alone for a while. `text`: others may be asked about, but the log is told. `caller`: it
   * has gone, or may not ask.
   */
  readonly whose: 'service' | 'text' | 'caller'

  /** `message`: for the log; nothing of what was sent or received. */
  constructor(message: string, whose: Unavailable['whose'] = 'service') {
    super(message)
    this.whose = whose
  }
}
