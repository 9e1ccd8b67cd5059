/** `weir -f` with manifests of Kubernetes: what is served, and what the terminal says. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runProgram } from '#engine/testing/program.ts'

const gateway = (port: number, name = 'edge') => `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: ${name} }
spec:
  gatewayClassName: weir
  listeners: [{ name: http, port: ${port}, protocol: HTTP }]
`

const route = (more = '', parent = 'edge') => `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: shop }
spec:
  parentRefs: [{ name: ${parent} }]
  rules:
  - backendRefs: [{ name: shop, port: 80 }]
${more}
`

const service = (port: number) => `---
apiVersion: v1
kind: Service
metadata: { name: shop }
spec: { ports: [{ port: 80 }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: shop-1, labels: { kubernetes.io/service-name: shop } }
addressType: IPv4
endpoints: [{ addresses: [127.0.0.1] }]
ports: [{ port: ${port} }]
`

test('mistakes have file, line, column, object and field; the exit code is that of a configuration', async () => {
  const text = gateway(8080) + route('    timeouts: { request: 1x }').replace('parentRefs', 'parentRef')
  const program = runProgram(['-f', '-', '--validate-only'], text)
  assert.equal(await program.exited(), 3)
  assert.match(
    program.output,
    /stdin:13:3: HTTPRoute shop: spec\.parentRef: is not a known key\n +did you mean "parentRefs"/
  )
  assert.match(program.output, /stdin:16:26: HTTPRoute shop: spec\.rules\[0\]\.timeouts\.request: must match/)
  assert.match(program.output, /2 mistakes in stdin; nothing was started/)
})

test('a manifest without a Gateway is valid, and serves nothing', async () => {
  const program = runProgram(['-f', '-', '--validate-only'], service(1).slice(4))
  assert.equal(await program.exited(), 0)
  assert.match(program.output, /stdin: there is no Gateway of weir among the resources, so nothing is served/)
  assert.match(program.output, /configuration is valid: 0 binds/)
})

test('syntax is judged document by document', async () => {
  const program = runProgram(['-f', '-', '--validate-only'], `${gateway(8080)}---\nkind: [\n`)
  assert.equal(await program.exited(), 3)
  assert.match(program.output, /stdin:9:7: the \[ that stands here is not closed/)
})

test('a backend that no route uses is judged too', async () => {
  const backend = `---
apiVersion: weir.dev/v1alpha1
kind: GatewayBackend
metadata: { name: models }
spec: { ai: { provider: { openai: {} } } }
`
  const program = runProgram(['-f', '-', '--validate-only'], gateway(8080) + backend)
  assert.equal(await program.exited(), 0)
  assert.match(program.output, /configuration is valid: 1 bind, 0 routes, 0 backends\n/)
})
