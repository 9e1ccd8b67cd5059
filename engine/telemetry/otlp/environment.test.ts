import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { otelEnvironment } from './environment.ts'

const messages = (env: Record<string, string>) =>
  otelEnvironment(env).notices.map(({ level, message }) => `${level}: ${message}`)

test('without any of them nothing is said', () => {
  deepEqual(otelEnvironment({ PATH: '/bin', OTEL_EXPORTER_OTLP_ENDPOINT: '' }), {
    isDisabled: false,
    resource: [],
    notices: []
  })
})

test('attributes of the resource are pairs of baggage, and the name of the service comes last', () => {
  const { resource, notices } = otelEnvironment({
    OTEL_SERVICE_NAME: 'front',
    OTEL_RESOURCE_ATTRIBUTES: ' deployment.environment.name = prod%2Ceu ,service.name=other,note=a=b,empty=,'
  })
  deepEqual(resource, [
    ['deployment.environment.name', 'prod,eu'],
    ['service.name', 'other'],
    ['note', 'a=b'],
    ['empty', ''],
    ['service.name', 'front']
  ])
  deepEqual(notices, [])
})

for (const text of ['a=b,nothing', 'a=b,=c', 'a=b,c=%E0%A4%A', 'a=b,%=c'])
  test(`one mistake leaves all of them out: ${text}`, () => {
    const { resource, notices } = otelEnvironment({ OTEL_SERVICE_NAME: 'front', OTEL_RESOURCE_ATTRIBUTES: text })
    deepEqual(resource, [['service.name', 'front']])
    equal(notices.length, 1)
    match(notices[0]!.message, /OTEL_RESOURCE_ATTRIBUTES is left out: pair 2 must be name=value/)
  })

test('they are bounded', () => {
  const { resource, notices } = otelEnvironment({ OTEL_RESOURCE_ATTRIBUTES: `a=${'b'.repeat(5000)}` })
  deepEqual(resource, [])
  match(notices[0]!.message, /more than 4096 characters/)
})

test('exports are off with true in any case, and with nothing else', () => {
  for (const [text, isDisabled, count] of [
    ['true', true, 1],
    ['TRUE', true, 1],
    ['false', false, 0],
    ['', false, 0],
    ['1', false, 1]
  ] as const) {
    const found = otelEnvironment({ OTEL_SDK_DISABLED: text })
    deepEqual([found.isDisabled, found.notices.length], [isDisabled, count], text)
  }
  deepEqual(messages({ OTEL_SDK_DISABLED: 'true' }), [
    'info: OTEL_SDK_DISABLED=true: no traces, metrics and log records are sent to collectors'
  ])
})

test('one warning names what is not read, with the setting instead, and no value', () => {
  const [warning, ...others] = messages({
    OTEL_TRACES_SAMPLER: 'always_on',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=secret',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces',
    OTEL_EXPORTER_OTLP_METRICS_CLIENT_CERTIFICATE: '/x',
    OTEL_SPAN_EVENT_COUNT_LIMIT: '3'
  })
  deepEqual(others, [])
  equal(
    warning,
    'warn: variables of OpenTelemetry that are not read, and what to set instead: ' +
      'OTEL_EXPORTER_OTLP_HEADERS (auth of the backend that backendRef names); ' +
      'OTEL_EXPORTER_OTLP_METRICS_CLIENT_CERTIFICATE (tls of the backend that backendRef names); ' +
      'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT (host or backendRef of frontendPolicies.tracing, metrics.otlp and accessLog.otlp); ' +
      'OTEL_SPAN_EVENT_COUNT_LIMIT (nothing); ' +
      'OTEL_TRACES_SAMPLER (frontendPolicies.tracing.randomSampling and clientSampling)'
  )
})
