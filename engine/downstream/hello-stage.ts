/** Reads the ClientHello of TLS that is passed on and chooses the route by its name; the bytes stay as they are. */
import type { TcpPort } from '#engine/contract/tcp.ts'
import { CLIENT_HELLO_FAULTS, readClientHello } from '#engine/http/client-hello.ts'
import type { Wire } from '#engine/socket/wire.ts'
import { ENDED, MORE, Stage } from './stage.ts'
import { passOn, type TcpPlace, UNRECOGNIZED_NAME } from './tcp.ts'

export class HelloStage extends Stage {
  readonly #port: TcpPort
  readonly #tcp: TcpPlace
  #serverName = ''

  constructor(place: TcpPlace, wire: Wire, port: TcpPort, timeoutMs: number) {
    super(place, wire, timeoutMs)
    this.#tcp = place
    this.#port = port
  }

  protected decide(bytes: Buffer, start: number, end: number): number {
    const hello = readClientHello(bytes, start, end)
    if (hello === 'more') return MORE
    if (typeof hello === 'string') {
      this.refuse('BAD_CLIENT_HELLO', CLIENT_HELLO_FAULTS[hello])
      return ENDED
    }
    this.#serverName = hello.serverName
    return start
  }

  protected proceed(): void {
    passOn(this.#tcp, this.wire, this.#port, this.#serverName, this.startedAt, UNRECOGNIZED_NAME)?.start()
  }

  protected late(hasBytes: boolean): boolean {
    if (hasBytes) this.refuse('HEAD_TIMEOUT')
    else this.cut()
    return false
  }
}
