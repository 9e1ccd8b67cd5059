/** What variables of OpenTelemetry change in what collectors get. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MetricsPlan } from '#engine/contract/otlp.ts'
import { REGION_BYTES } from '#engine/telemetry/metrics.ts'
import { MetricsTable } from '#engine/telemetry/metrics-table.ts'
import { createTelemetry } from '#engine/telemetry/telemetry.ts'
import { startOrigin } from '#engine/testing/origin.ts'
import { freePort, runProgram } from '#engine/testing/program.ts'
import { ask, hasServer, startTraced } from '#engine/testing/traced.ts'

const OK = { policies: { directResponse: { status: 200, body: 'ok' } } }

test('they are defaults of the resource, and the configuration wins', async (t) => {
  const environment = {
    OTEL_SERVICE_NAME: 'front',
    OTEL_RESOURCE_ATTRIBUTES: 'team=red,deployment.environment.name=prod,host.name=box'
  }
  const resources = { 'deployment.environment.name': '"test"' }
  const { port, collector } = await startTraced(t, OK, { resources }, { environment })
  await ask(port, '/')
  const [{ resource } = assert.fail()] = await collector.until(hasServer)
  const { 'service.name': service, team, 'deployment.environment.name': stage, 'host.name': host } = resource
  assert.deepEqual([service, team, stage, host], ['front', 'red', 'test', 'box'])
})

test('exports that are off send nothing, and headers of traces pass unread', async (t) => {
  const origin = await startOrigin()
  t.after(() => origin.close())
  const environment = { OTEL_SDK_DISABLED: 'true' }
  const route = { backends: [{ host: `127.0.0.1:${origin.port}` }] }
  const { port, collector, close } = await startTraced(t, route, {}, { environment })
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  await ask(port, '/', { traceparent })
  // What is left would be sent now.
  await close()
  assert.deepEqual(collector.exports, [])
  const { headers } = origin.seen[0]!
  assert.equal(headers[headers.indexOf('traceparent') + 1], traceparent)
})

test('with exports off there is no tracer, and nothing asks for metrics', async () => {
  const region = new SharedArrayBuffer(REGION_BYTES)
  const announce = new MetricsTable().attach('0', region)
  const logging = { level: 'off', format: 'text' } as const
  const made = (environment: Record<string, string>) =>
    createTelemetry({ region, worker: 0, announce, logging, environment })
  const [off, on] = [made({ OTEL_SDK_DISABLED: 'true' }), made({})]
  // Neither is begun.
  const plan = {} as MetricsPlan
  assert.equal(off.exportMetrics(plan), null)
  assert.notEqual(on.exportMetrics(plan), null)
  await Promise.all([off.close(), on.close()])
})

test('the process says at start what it does not read, once', async (t) => {
  const quiet = "config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', workerThreads: 2 }"
  const routes = '[{ policies: { directResponse: { status: 200 } } }]'
  const file = `${quiet}\nbinds: [{ port: ${await freePort()}, listeners: [{ routes: ${routes} }] }]\n`
  const program = runProgram(['--config', file], '', {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
    OTEL_TRACES_SAMPLER: 'always_on',
    OTEL_SDK_DISABLED: 'TRUE'
  })
  t.after(() => program.stop())
  await program.logged('weir ')
  await program.logged(/ports \d+/)
  const lines = program.output.split('\n').filter((line) => line.includes('OTEL_'))
  assert.equal(lines.length, 2, program.output)
  assert.match(lines[0]!, /info .*OTEL_SDK_DISABLED=true: no traces/i)
  assert.match(lines[1]!, /warn .*OTEL_EXPORTER_OTLP_ENDPOINT \(host .*\); OTEL_TRACES_SAMPLER \(/i)
})
