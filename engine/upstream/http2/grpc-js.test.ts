/** gRPC through the whole gateway with the client and the server of others (@grpc/grpc-js): clear text and TLS. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import {
  ChannelCredentials,
  type Client,
  type ClientDuplexStream,
  type handleBidiStreamingCall,
  type handleClientStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  type MethodDefinition,
  makeGenericClientConstructor,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type ServiceError,
  status,
  type UntypedServiceImplementation
} from '@grpc/grpc-js'
import { TestAuthority } from '#engine/testing/authority.ts'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'

const LARGE = 5 * 1024 * 1024
const MESSAGES_MAX = { 'grpc.max_receive_message_length': 16 * 1024 * 1024 }
/** google.rpc.Status would be here; the gateway must not care. */
const DETAILS = Buffer.from([0x08, 0x09, 0xff, 0x00, 0x80])

const asIs = (bytes: Buffer): Buffer => bytes
const method = (name: string, requestStream: boolean, responseStream: boolean): MethodDefinition<Buffer, Buffer> => ({
  path: `/weir.test.Echo/${name}`,
  requestStream,
  responseStream,
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs
})
const SERVICE = {
  unary: method('Unary', false, false),
  collect: method('Collect', true, false),
  spread: method('Spread', false, true),
  talk: method('Talk', true, true),
  fail: method('Fail', false, false),
  hang: method('Hang', false, true)
} satisfies ServiceDefinition
const EchoClient = makeGenericClientConstructor(SERVICE, 'Echo')

/** Calls of `hang` that the server knows to be over. */
class Hanging {
  count = 0
  /** Milliseconds that the last one was allowed. */
  allowedMs = 0
  readonly #waiting: (() => void)[] = []

  over(): void {
    this.count++
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }
}

interface Calls extends UntypedServiceImplementation {
  readonly unary: handleUnaryCall<Buffer, Buffer>
  readonly collect: handleClientStreamingCall<Buffer, Buffer>
  readonly spread: handleServerStreamingCall<Buffer, Buffer>
  readonly talk: handleBidiStreamingCall<Buffer, Buffer>
  readonly fail: handleUnaryCall<Buffer, Buffer>
  readonly hang: handleServerStreamingCall<Buffer, Buffer>
}

function implementation(hanging: Hanging): Calls {
  return {
    unary: (call, done) => {
      const trailer = new Metadata()
      trailer.set('x-trailer', 'at the end')
      trailer.set('bytes-bin', Buffer.from([0, 1, 254, 255]))
      const head = new Metadata()
      head.set('x-head', String(call.metadata.get('x-say')[0] ?? 'nothing'))
      for (const value of call.metadata.get('sent-bin')) head.add('sent-bin', value)
      call.sendMetadata(head)
      done(null, call.request, trailer)
    },
    collect: (call, done) => {
      const pieces: Buffer[] = []
      call.on('data', (piece: Buffer) => pieces.push(piece))
      call.on('end', () => done(null, Buffer.concat(pieces)))
    },
    spread: (call) => {
      for (const byte of call.request) call.write(Buffer.from([byte]))
      call.end()
    },
    talk: (call) => {
      call.on('data', (piece: Buffer) => call.write(Buffer.concat([piece, piece])))
      call.on('end', () => call.end())
    },
    fail: (_call, done) => {
      const metadata = new Metadata()
      metadata.set('grpc-status-details-bin', DETAILS)
      done({ code: status.FAILED_PRECONDITION, details: 'not yet: 100 % – später', metadata }, null)
    },
    hang: (call) => {
      hanging.allowedMs = Number(call.getDeadline()) - Date.now()
      call.write(Buffer.from('begun'))
      call.on('cancelled', () => hanging.over())
    }
  }
}

interface Answer {
  readonly error: ServiceError | null
  readonly value: string
  readonly head: Metadata
  readonly trailer: Metadata
}

interface Called {
  on(event: 'metadata', take: (metadata: Metadata) => void): void
  on(event: 'status', take: (status: { metadata: Metadata }) => void): void
}

/** The answer of a call with one answer. */
function answerOf(start: (done: (error: ServiceError | null, value?: Buffer) => void) => Called): Promise<Answer> {
  return new Promise((resolve) => {
    let head = new Metadata()
    let ended: { error: ServiceError | null; value: string } | null = null
    let trailer: Metadata | null = null
    const both = () => {
      if (ended !== null && trailer !== null) resolve({ ...ended, head, trailer })
    }
    const call = start((error, value) => {
      ended = { error, value: value?.toString('latin1') ?? '' }
      both()
    })
    call.on('metadata', (metadata) => {
      head = metadata
    })
    call.on('status', ({ metadata }) => {
      trailer = metadata
      both()
    })
  })
}

interface Kind {
  readonly name: string
  readonly listener: string
  readonly backend: string
  readonly isSecure: boolean
}

const KINDS: readonly Kind[] = [
  { name: 'clear text', listener: '', backend: '', isSecure: false },
  {
    name: 'TLS on both sides',
    listener: 'protocol: HTTPS, tls: { cert: leaf0.pem, key: leaf0.key },',
    backend: ', policies: { backendTLS: { root: root.pem, hostname: a.test } }',
    isSecure: true
  }
]

const authority = new TestAuthority()
const leaf = authority.leaf({ names: 'DNS:a.test' })
after(() => authority.remove())

for (const { name, listener, backend, isSecure } of KINDS) {
  describe(`@grpc/grpc-js through the gateway, ${name}`, () => {
    const hanging = new Hanging()
    const server = new Server(MESSAGES_MAX)
    let gateway: TestGateway
    let client: InstanceType<typeof EchoClient>
    const opened: Client[] = []

    before(async () => {
      server.addService(SERVICE, implementation(hanging))
      const root = readFileSync(authority.root)
      const [cert, key] = [readFileSync(leaf.cert), readFileSync(leaf.key)]
      const own = isSecure
        ? ServerCredentials.createSsl(null, [{ cert_chain: cert, private_key: key }])
        : ServerCredentials.createInsecure()
      const port = await new Promise<number>((resolve, reject) =>
        server.bindAsync('127.0.0.1:0', own, (error, bound) => (error === null ? resolve(bound) : reject(error)))
      )
      gateway = await startGateway(
        `binds: [{ port: 0, listeners: [{ ${listener} routes: [{ backends: [{ host: '127.0.0.1:${port}'${backend} }] }] }] }]`,
        { folder: authority.folder }
      )
      const theirs = isSecure ? ChannelCredentials.createSsl(root) : ChannelCredentials.createInsecure()
      const names = isSecure ? { 'grpc.ssl_target_name_override': 'a.test', 'grpc.default_authority': 'a.test' } : {}
      client = new EchoClient(`127.0.0.1:${gateway.port}`, theirs, { ...MESSAGES_MAX, ...names })
      opened.push(client)
    })
    after(async () => {
      for (const one of opened) one.close()
      server.forceShutdown()
      await gateway.close()
    })

    const unary = (value: Buffer, metadata = new Metadata()): Promise<Answer> =>
      answerOf((done) => client.unary!(value, metadata, done))

    it('one message each way, metadata both ways, at the beginning and at the end', async () => {
      const metadata = new Metadata()
      metadata.set('x-say', 'hello')
      metadata.add('sent-bin', Buffer.from([0, 255, 10, 13]))
      metadata.add('sent-bin', Buffer.from([1]))
      const { error, value, head, trailer } = await unary(Buffer.from('message'), metadata)
      equal(error, null)
      equal(value, 'message')
      deepEqual(head.get('x-head'), ['hello'])
      deepEqual(head.get('sent-bin'), [Buffer.from([0, 255, 10, 13]), Buffer.from([1])])
      deepEqual(trailer.get('x-trailer'), ['at the end'])
      deepEqual(trailer.get('bytes-bin'), [Buffer.from([0, 1, 254, 255])])
    })

    it('messages over 4 MB, and empty ones', async () => {
      const large = Buffer.alloc(LARGE, 'large')
      const { error, value } = await unary(large)
      equal(error, null)
      ok(Buffer.from(value, 'latin1').equals(large))
      equal((await unary(Buffer.alloc(0))).value, '')
    })

    it('many messages of the client, one of the server', async () => {
      const { error, value } = await answerOf((done) => {
        const call = client.collect!(new Metadata(), done)
        for (let i = 0; i < 1000; i++) call.write(Buffer.from([i & 127]))
        call.end()
        return call
      })
      equal(error, null)
      equal(value, String.fromCharCode(...Array.from({ length: 1000 }, (_, i) => i & 127)))
    })

    it('one message of the client, many of the server', async () => {
      const payload = Buffer.from(Array.from({ length: 1000 }, (_, i) => i & 255))
      const pieces: Buffer[] = []
      for await (const piece of client.spread!(payload, new Metadata())) pieces.push(piece as Buffer)
      equal(pieces.length, 1000)
      ok(Buffer.concat(pieces).equals(payload))
    })

    it('a conversation: each message is answered before the next one is said', async () => {
      const call: ClientDuplexStream<Buffer, Buffer> = client.talk!(new Metadata())
      const heard: string[] = []
      call.write(Buffer.from('0'))
      for await (const piece of call) {
        heard.push(String(piece))
        if (heard.length < 20) call.write(Buffer.from(String(heard.length)))
        else call.end()
      }
      deepEqual(
        heard,
        Array.from({ length: 20 }, (_, i) => `${i}${i}`)
      )
    })

    it('an error with a message beyond ASCII, and details in bytes', async () => {
      const { error } = await answerOf((done) => client.fail!(Buffer.from('x'), new Metadata(), done))
      equal(error?.code, status.FAILED_PRECONDITION)
      equal(error.details, 'not yet: 100 % – später')
      deepEqual(error.metadata.get('grpc-status-details-bin'), [DETAILS])
    })

    it('an unknown method', async () => {
      const unknown = method('Nothing', false, false)
      const { error } = await answerOf((done) =>
        client.makeUnaryRequest(unknown.path, asIs, asIs, Buffer.from('x'), new Metadata(), done)
      )
      equal(error?.code, status.UNIMPLEMENTED)
    })

    it('a deadline reaches the server and ends the call on both sides', async () => {
      const over = hanging.next()
      const call = client.hang!(Buffer.from('x'), new Metadata(), { deadline: Date.now() + 700 })
      const failed = new Promise<ServiceError>((resolve) => call.on('error', resolve))
      call.resume()
      equal((await failed).code, status.DEADLINE_EXCEEDED)
      await over
      ok(hanging.allowedMs > 0 && hanging.allowedMs <= 700, `${hanging.allowedMs} ms`)
    })

    it('a call that the client cancels is cancelled at the server', async () => {
      const over = hanging.next()
      const call = client.hang!(Buffer.from('x'), new Metadata())
      const failed = new Promise<ServiceError>((resolve) => call.on('error', resolve))
      call.on('data', () => call.cancel())
      equal((await failed).code, status.CANCELLED)
      await over
    })

    it('two hundred calls at a time', async () => {
      const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => unary(Buffer.from(`call ${i}`))))
      deepEqual(
        answers.map(({ value }) => value),
        Array.from({ length: 200 }, (_, i) => `call ${i}`)
      )
    })

    it('a server that has gone is UNAVAILABLE, with a message', async () => {
      server.forceShutdown()
      const { error } = await unary(Buffer.from('x'))
      equal(error?.code, status.UNAVAILABLE)
      match(error.details, /backend|upstream|connect/)
    })
  })
}
