/**
 * Frames of a peer that ask for work and bring nothing: acknowledgements, windows, PINGs, empty DATA. A burst, and then
 * so many each second; useful frames, and DATA that we send, earn more.
 */
import { Allowance } from './allowance.ts'
import { ENHANCE_YOUR_CALM, NO_ERROR } from './protocol.ts'

export class IdleFrames extends Allowance {
  readonly #perData: number
  #dataSeen = 0

  /** `perData`: earned by a frame of DATA that we sent, whose windows and PINGs the peer has to send. */
  constructor(most: number, perSecond: number, perData: number, now: number) {
    super(most, perSecond, now)
    this.#perData = perData
  }

  /** One has come. `dataSent`: frames of DATA that have left so far. NO_ERROR, or the end of the connection. */
  take(now: number, dataSent: number): number {
    if (dataSent !== this.#dataSeen) {
      this.earn((dataSent - this.#dataSeen) * this.#perData)
      this.#dataSeen = dataSent
    }
    return this.spend(now) ? NO_ERROR : ENHANCE_YOUR_CALM
  }
}
