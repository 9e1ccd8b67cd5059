/** Requests for models and MCP servers, and their answers, pass through a processing service as any others. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'
import { exchangeRaw, rawClient } from '#engine/testing/raw.ts'
import { body, piece } from './gateway.fixture.ts'
import { answerTo, type Processor, startProcessor, type TestProcessor } from './services.fixture.ts'

let service: TestProcessor
const stops: (() => unknown)[] = []
before(async () => {
  service = await startProcessor((request) => [answerTo(request)])
})
beforeEach(() => {
  service.requests.length = 0
})
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})
after(() => service.close())

const send = (gateway: TestGateway, lines: string, text: string) =>
  exchangeRaw(gateway.port, `${lines}\r\nHost: a.test\r\nConnection: close\r\n\r\n${text}`)
const kinds = () => service.requests.map(({ request }) => request!.$case)

describe('models and MCP servers', () => {
  const through = async (destination: object, mode = 'BUFFERED') => {
    const policies = {
      extProc: {
        backend: 'processor',
        messageTimeout: '60s',
        processingMode: { requestBodyMode: mode, responseBodyMode: mode }
      }
    }
    const listeners = [{ routes: [{ policies, backends: [destination] }] }]
    const backends = [{ name: 'processor', host: `127.0.0.1:${service.port}` }]
    const gateway = await startGateway(JSON.stringify({ backends, binds: [{ port: 0, listeners }] }))
    stops.push(() => gateway.close())
    return gateway
  }
  const served = async (answerOf: (text: string) => object) => {
    const requests: string[] = []
    const server = createServer(async (request, response) => {
      let text = ''
      for await (const piece of request) text += piece
      requests.push(text)
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answerOf(text)))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    stops.push(() => {
      server.close()
      server.closeAllConnections()
    })
    return { requests, port: (server.address() as AddressInfo).port }
  }
  /** The first text becomes the second in every body. */
  const rewriting =
    (from: string, to: string): Processor =>
    (request) => {
      const { $case, value } = request.request!
      if ($case !== 'requestBody' && $case !== 'responseBody') return [answerTo(request)]
      return [answerTo(request, body((value as { body: Buffer }).body.toString().replaceAll(from, to)))]
    }
  const postJson = (gateway: TestGateway, path: string, value: object) => {
    const text = JSON.stringify(value)
    const accept = 'Accept: application/json, text/event-stream'
    const lines = `POST ${path} HTTP/1.1\r\nContent-Type: application/json\r\n${accept}\r\nContent-Length: ${text.length}`
    return send(gateway, lines, text)
  }

  it('a model is asked what the service has made of the question, and so is its answer', async () => {
    const model = await served(() => ({
      id: '1',
      object: 'chat.completion',
      created: 1,
      model: 'gpt-5',
      choices: [{ index: 0, message: { role: 'assistant', content: 'red' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    }))
    const provider = { openai: {}, host: '127.0.0.1', port: model.port }
    const gateway = await through({ ai: { provider } })
    service.process = rewriting('red', 'blue')
    const question = { model: 'gpt-5', messages: [{ role: 'user', content: 'red?' }] }
    const text = await postJson(gateway, '/v1/chat/completions', question)
    match(text, /^HTTP\/1.1 200 [\s\S]*"content":"blue"/)
    match(model.requests[0]!, /"blue\?"/)
    deepEqual(kinds(), ['requestHeaders', 'requestBody', 'responseHeaders', 'responseBody'])
  })

  it('a chat that is streamed passes the service event by event', async () => {
    const chunk = (content: string, finish: string | null = null) =>
      `data: ${JSON.stringify({
        id: '1',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'gpt-5',
        choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: finish }]
      })}\n\n`
    const goOn = Promise.withResolvers<void>()
    const model = createServer((request, response) => {
      request.resume().on('end', () => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk('red '))
        // What follows waits until the client has the first event.
        void goOn.promise.then(() => response.end(`${chunk('wine', 'stop')}data: [DONE]\n\n`))
      })
    })
    await new Promise<void>((resolve) => model.listen(0, '127.0.0.1', resolve))
    stops.push(() => model.close())
    for (const mode of ['STREAMED', 'FULL_DUPLEX_STREAMED']) {
      const { port } = model.address() as AddressInfo
      const gateway = await through({ ai: { provider: { openai: {}, host: '127.0.0.1', port } } }, mode)
      service.process = (message) => {
        const { $case, value } = message.request!
        if ($case !== 'requestBody' && $case !== 'responseBody') return [answerTo(message)]
        const { body: bytes, endOfStream } = value as { body: Buffer; endOfStream: boolean }
        const text = bytes.toString().replaceAll('red', 'blue')
        return [answerTo(message, mode === 'STREAMED' ? body(text) : piece(text, endOfStream))]
      }
      const question = JSON.stringify({ model: 'gpt-5', stream: true, messages: [{ role: 'user', content: 'red?' }] })
      const client = await rawClient(gateway.port)
      client.send(
        `POST /v1/chat/completions HTTP/1.1\r\nHost: a.test\r\nContent-Type: application/json\r\n` +
          `Content-Length: ${question.length}\r\n\r\n${question}`
      )
      await client.until('"blue "')
      goOn.resolve()
      match(await client.until('[DONE]'), /"wine"/)
      client.close()
    }
  })

  it('an MCP server is asked what the service lets pass', async () => {
    const target = await served((text) => {
      const { id } = text === '' ? { id: null } : (JSON.parse(text) as { id?: number })
      const serverInfo = { name: 'red', version: '1' }
      return { jsonrpc: '2.0', id, result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo } }
    })
    const gateway = await through({
      mcp: { targets: [{ name: 'a', mcp: { host: `http://127.0.0.1:${target.port}/mcp` } }] }
    })
    service.process = rewriting('somebody', 'another')
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'somebody', version: '1' } }
    const text = await postJson(gateway, '/mcp', { jsonrpc: '2.0', id: 1, method: 'initialize', params })
    match(text, /^HTTP\/1.1 200 [\s\S]*protocolVersion/)
    match(target.requests.join(), /another/)
    equal(kinds().length, 4)
  })
})
