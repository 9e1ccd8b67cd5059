/** Collectors that fail in every way that a peer can: no request waits for one, and every span is counted. */
import { equal, match } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { ExportTraceServiceResponse } from '#engine/proto/generated/opentelemetry/proto/collector/trace/v1/trace_service.ts'
import { answerGrpc, FAULTS, type Fault, grpcService, rawService } from '#engine/testing/faulty-services.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { startHttpCollector } from '#engine/testing/otlp-collector.ts'
import { freePort, runProgram } from '#engine/testing/program.ts'
import { ask, tracedFile } from '#engine/testing/traced.ts'

const ROUTE = { policies: { directResponse: { status: 200, body: 'ok' } } }
const PROCESS = { workerThreads: 2, adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off' }
const PROTOCOLS = ['HTTP', 'GRPC'] as const
const SPANS = 3

const count = (metrics: string, name: string): number =>
  [...metrics.matchAll(new RegExp(`^weir_otlp_${name}_total\\{signal="traces"[^}]*\\} (\\d+)$`, 'gm'))].reduce(
    (sum, [, value]) => sum + Number(value),
    0
  )

const serviceOf = (t: TestContext, protocol: (typeof PROTOCOLS)[number], { grpc, http }: Fault) =>
  protocol === 'GRPC' ? grpcService(t, grpc) : rawService(t, http!)

for (const protocol of PROTOCOLS) {
  describe(`a collector over ${protocol} that`, () => {
    for (const { timeout = '60s', ...fault } of FAULTS) {
      if (protocol === 'HTTP' && fault.http === null) continue
      it(`${fault.name}: requests are answered, and each span is counted once`, async (t) => {
        const collector = await serviceOf(t, protocol, fault)
        const batch = { scheduleDelay: '1ms', exportTimeout: timeout }
        const gateway = await startGateway(tracedFile(collector.port, ROUTE, { protocol, batch }))
        equal((await ask(gateway.port, '/')).status, 200)
        await collector.arrival
        for (let i = 1; i < SPANS; i++) equal((await ask(gateway.port, '/')).status, 200)
        await gateway.close()
        await collector.idle()
        const metrics = gateway.metrics()
        equal(count(metrics, 'exported') + count(metrics, 'dropped'), SPANS)
      })
    }

    it('takes a part, and less than nothing, and more than there is: what is lost is what was sent', async (t) => {
      for (const [rejectedSpans, dropped] of [
        [1n, 1],
        [-1n, 0],
        [2n ** 62n, 1]
      ] as const) {
        const partialSuccess = { rejectedSpans, errorMessage: 'too many' }
        const message = ExportTraceServiceResponse.encode({ partialSuccess }).finish()
        const head = `HTTP/1.1 200 OK\r\nContent-Length: ${message.length}\r\nConnection: close\r\n\r\n`
        const collector = await serviceOf(t, protocol, {
          name: '',
          grpc: (stream) => answerGrpc(stream, message),
          http: (socket) => void socket.end(Buffer.concat([Buffer.from(head), message]))
        })
        const gateway = await startGateway(tracedFile(collector.port, ROUTE, { protocol }))
        equal((await ask(gateway.port, '/')).status, 200)
        await gateway.close()
        const metrics = gateway.metrics()
        equal(count(metrics, 'dropped'), dropped)
        equal(count(metrics, 'exported'), 1 - dropped)
        match(gateway.logged.join('\n'), /did not take \d of 1 items: too many/)
      }
    })
  })
}

it('spans that two workers have gathered are sent while they drain', async (t) => {
  const collector = await startHttpCollector()
  t.after(() => collector.close())
  const port = await freePort()
  const file = tracedFile(collector.port, ROUTE, { batch: { scheduleDelay: '1h' } }, { config: PROCESS })
  const program = runProgram(['-c', file.replace('"port":0', `"port":${port}`)])
  t.after(() => program.stop())
  await program.logged('target=start')
  for (let i = 0; i < 20; i++) equal((await ask(port, '/')).status, 200)
  equal(collector.exports.length, 0)
  program.signal('SIGTERM')
  equal(await program.exited(), 0)
  equal(collector.spans.length, 20)
})

it('a collector that says nothing while two workers drain does not keep the process', async (t) => {
  const collector = await grpcService(t, () => {})
  const port = await freePort()
  const batch = { scheduleDelay: '1ms', exportTimeout: '60s' }
  const file = tracedFile(collector.port, ROUTE, { protocol: 'GRPC', batch }, { config: PROCESS })
  const program = runProgram(['-c', file.replace('"port":0', `"port":${port}`)])
  t.after(() => program.stop())
  await program.logged('target=start')
  equal((await ask(port, '/')).status, 200)
  await collector.arrival
  program.signal('SIGTERM')
  equal(await program.exited(), 0)
  await collector.idle()
})
