/** Authorization services for tests: one of gRPC, made of the official messages, and one of HTTP. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js'
import { CheckRequest, CheckResponse } from '#engine/proto/generated/envoy/service/auth/v3/external_auth.ts'

export type { CheckRequest } from '#engine/proto/generated/envoy/service/auth/v3/external_auth.ts'

// --- answers ---

export const option = (key: string, value: string, appendAction: 0 | 1 | 2 | 3 = 0, append?: boolean) => ({
  header: { key, value, rawValue: Buffer.alloc(0) },
  append,
  appendAction,
  keepEmptyValue: false
})

const NOTHING = {
  headers: [],
  headersToRemove: [],
  dynamicMetadata: undefined,
  responseHeadersToAdd: [],
  queryParametersToSet: [],
  queryParametersToRemove: []
}
export const status = (code: number) => ({ code, message: '', details: [] })
type Ok = Extract<NonNullable<CheckResponse['httpResponse']>, { $case: 'okResponse' }>['value']

export const allowed = (more: Partial<Ok> = {}, dynamicMetadata?: object): CheckResponse => ({
  status: status(0),
  httpResponse: { $case: 'okResponse', value: { ...NOTHING, ...more } },
  dynamicMetadata
})
export const denied = (code: number, headers: ReturnType<typeof option>[], body: string): CheckResponse => ({
  status: status(7),
  httpResponse: { $case: 'deniedResponse', value: { status: { code: code as 401 }, headers, body } },
  dynamicMetadata: undefined
})

// --- services ---

/** What the service answers; null: nothing, for as long as the call lasts. */
export type Judge = (request: CheckRequest) => CheckResponse | Buffer | null

export interface GrpcAuthorizer {
  readonly port: number
  readonly requests: CheckRequest[]
  judge: Judge
  /** Answers when the test says so; null: at once. */
  later: ((answer: () => void) => void) | null
  /** Calls that their client has given up. */
  cancelled: number
  close(): void
}

export async function startGrpcAuthorizer(judge: Judge): Promise<GrpcAuthorizer> {
  const server = new Server()
  const own: GrpcAuthorizer = {
    port: 0,
    requests: [],
    judge,
    later: null,
    cancelled: 0,
    close: () => server.forceShutdown()
  }
  const check = {
    path: '/envoy.service.auth.v3.Authorization/Check',
    requestStream: false as const,
    responseStream: false as const,
    requestSerialize: (request: CheckRequest) => Buffer.from(CheckRequest.encode(request).finish()),
    requestDeserialize: (bytes: Buffer) => CheckRequest.decode(bytes),
    responseSerialize: (answer: CheckResponse | Buffer) =>
      Buffer.isBuffer(answer) ? answer : Buffer.from(CheckResponse.encode(answer).finish()),
    responseDeserialize: (bytes: Buffer) => CheckResponse.decode(bytes)
  }
  server.addService(
    { check },
    {
      check(call: ServerUnaryCall<CheckRequest, CheckResponse>, done: sendUnaryData<CheckResponse | Buffer>) {
        own.requests.push(call.request)
        call.on('cancelled', () => own.cancelled++)
        const answer = own.judge(call.request)
        if (own.later !== null && answer !== null) own.later(() => done(null, answer))
        else if (answer !== null) done(null, answer)
      }
    }
  )
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, at) =>
      error === null ? resolve(at) : reject(error)
    )
  })
  return Object.assign(own, { port })
}

export interface HttpAnswer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly body?: string
}

export interface RecordedRequest {
  readonly line: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** An HTTP server that records its requests. */
export async function startHttpServer(judge: (request: RecordedRequest) => HttpAnswer) {
  const requests: RecordedRequest[] = []
  const own = { judge }
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    const one = { line: `${request.method} ${request.url}`, headers: request.headers, body }
    requests.push(one)
    const { status, headers = {}, body: text = '' } = own.judge(one)
    response.writeHead(status, headers as Record<string, string>).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return Object.assign(own, {
    port,
    requests,
    close() {
      server.close()
      server.closeAllConnections()
    }
  })
}
