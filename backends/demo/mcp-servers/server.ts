/**
 * An MCP server on standard streams (revisions 2024-11-05 to 2025-11-25: base protocol, lifecycle, server features), as
 * much of one as the demonstration needs.
 */
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'

/** Newest first. */
const REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']
const LINE_CHARS_MAX = 1024 * 1024

const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600
const METHOD_NOT_FOUND = -32601
export const INVALID_PARAMS = -32602
const RESOURCE_NOT_FOUND = -32002

export type Json = Readonly<Record<string, unknown>>

/** What a tool may do beside answering. */
export interface Call {
  /** For a client that wants progress; `total` steps in all. */
  progress(step: number, total: number, message: string): void
  /** Asks the user. Null: the client cannot ask, or the user does not want to say. */
  elicit(message: string, requestedSchema: Json): Promise<Json | null>
  /** The client waits no more. */
  readonly signal: AbortSignal
}

export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: Json
  readonly annotations?: Json
  /** The text of the answer. Throws an Error whose message goes to the model. */
  readonly run: (args: Json, call: Call) => string | Promise<string>
}

export interface Prompt {
  readonly name: string
  readonly description: string
  readonly arguments: readonly Json[]
  readonly text: (args: Json) => string
}

export interface Resource {
  readonly uri: string
  readonly name: string
  readonly mimeType: string
  readonly text: () => string
}

export interface Parts {
  readonly name: string
  readonly version: string
  readonly instructions: string
  readonly tools: readonly Tool[]
  readonly prompts?: readonly Prompt[]
  /** Of this moment. */
  readonly resources?: () => readonly Resource[]
  /** Called once; `changed` tells the client that the list of resources is another. */
  readonly onChange?: (changed: () => void) => void
}

/** An answer that says what is wrong. */
class Fault extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/** Serves until `input` ends. */
export async function serve(parts: Parts, input: Readable, output: Writable): Promise<void> {
  const server = new Server(parts, output)
  for await (const line of createInterface({ input })) server.receive(line)
}

class Server {
  readonly #parts: Parts
  readonly #output: Writable
  readonly #running = new Map<unknown, AbortController>()
  readonly #pendingRequests = new Map<string, (result: Json | null) => void>()
  #asks = 0
  #canElicit = false
  readonly #methods: Readonly<Record<string, (params: Json, id: unknown) => Json | Promise<Json>>>

  constructor(parts: Parts, output: Writable) {
    this.#parts = parts
    this.#output = output
    this.#methods = {
      initialize: (params) => this.#initialize(params),
      ping: () => ({}),
      'tools/list': () => ({ tools: parts.tools.map(({ run: _, ...tool }) => tool) }),
      'tools/call': (params, id) => this.#call(params, id),
      ...(parts.prompts && {
        'prompts/list': () => ({ prompts: parts.prompts!.map(({ text: _, ...prompt }) => prompt) }),
        'prompts/get': (params) => this.#prompt(params)
      }),
      ...(parts.resources && {
        'resources/list': () => ({ resources: parts.resources!().map(({ text: _, ...resource }) => resource) }),
        'resources/templates/list': () => ({ resourceTemplates: [] }),
        'resources/read': (params) => this.#read(params)
      })
    }
    parts.onChange?.(() => this.#send({ method: 'notifications/resources/list_changed' }))
  }

  receive(line: string): void {
    if (line.trim() === '') return
    let message: unknown
    try {
      message = line.length > LINE_CHARS_MAX ? null : JSON.parse(line)
    } catch {
      this.#send({ id: null, error: { code: PARSE_ERROR, message: 'this is not JSON' } })
      return
    }
    if (!isObject(message)) this.#send({ id: null, error: { code: INVALID_REQUEST, message: 'not a request' } })
    else if (typeof message.method !== 'string') this.#response(message)
    else if (message.id === undefined) this.#notification(message.method, objectOf(message.params))
    else void this.#answer(message.id, message.method, objectOf(message.params))
  }

  async #answer(id: unknown, method: string, params: Json): Promise<void> {
    try {
      if (!Object.hasOwn(this.#methods, method)) throw new Fault(METHOD_NOT_FOUND, 'Method not found')
      const result = await this.#methods[method]!(params, id)
      this.#send({ id, result })
    } catch (error) {
      const code = error instanceof Fault ? error.code : INVALID_PARAMS
      this.#send({ id, error: { code, message: (error as Error).message } })
    }
  }

  #notification(method: string, { requestId }: Json): void {
    if (method === 'notifications/cancelled') this.#running.get(requestId)?.abort()
  }

  /** Of the client, to what was asked. */
  #response({ id, result }: Json): void {
    this.#pendingRequests.get(String(id))?.(isObject(result) ? result : null)
    this.#pendingRequests.delete(String(id))
  }

  #initialize({ protocolVersion, capabilities }: Json): Json {
    this.#canElicit = isObject(objectOf(capabilities).elicitation)
    const { name, version, instructions, prompts, resources } = this.#parts
    return {
      protocolVersion: REVISIONS.find((revision) => revision === protocolVersion) ?? REVISIONS[0],
      capabilities: {
        tools: {},
        ...(prompts && { prompts: {} }),
        ...(resources && { resources: { listChanged: true } })
      },
      serverInfo: { name, version },
      instructions
    }
  }

  async #call({ name, arguments: args, _meta }: Json, id: unknown): Promise<Json> {
    const tool = this.#parts.tools.find((one) => one.name === name)
    if (tool === undefined) throw new Fault(INVALID_PARAMS, `Unknown tool: ${String(name)}`)
    const controller = new AbortController()
    this.#running.set(id, controller)
    const token = objectOf(_meta).progressToken
    try {
      const text = await tool.run(objectOf(args), {
        signal: controller.signal,
        elicit: (message, requestedSchema) => this.#elicit(message, requestedSchema),
        progress: (progress, total, message) => {
          const params = { progressToken: token, progress, total, message }
          if (token !== undefined) this.#send({ method: 'notifications/progress', params })
        }
      })
      return { content: [{ type: 'text', text }] }
    } catch (error) {
      return { content: [{ type: 'text', text: (error as Error).message }], isError: true }
    } finally {
      this.#running.delete(id)
    }
  }

  async #elicit(message: string, requestedSchema: Json): Promise<Json | null> {
    if (!this.#canElicit) return null
    const id = `ask-${++this.#asks}`
    const result = await new Promise<Json | null>((resolve) => {
      this.#pendingRequests.set(id, resolve)
      this.#send({ id, method: 'elicitation/create', params: { message, requestedSchema } })
    })
    return result?.action === 'accept' ? objectOf(result.content) : null
  }

  #prompt({ name, arguments: args }: Json): Json {
    const prompt = this.#parts.prompts!.find((one) => one.name === name)
    if (prompt === undefined) throw new Fault(INVALID_PARAMS, `Unknown prompt: ${String(name)}`)
    const content = { type: 'text', text: prompt.text(objectOf(args)) }
    return { description: prompt.description, messages: [{ role: 'user', content }] }
  }

  #read({ uri }: Json): Json {
    const resource = this.#parts.resources!().find((one) => one.uri === uri)
    if (resource === undefined) throw new Fault(RESOURCE_NOT_FOUND, 'Resource not found')
    return { contents: [{ uri, mimeType: resource.mimeType, text: resource.text() }] }
  }

  #send(message: object): void {
    this.#output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What is not there says nothing. */
function objectOf(value: unknown): Json {
  return isObject(value) ? value : {}
}
