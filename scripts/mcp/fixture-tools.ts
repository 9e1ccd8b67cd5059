/** Tools of the fixture: what the scenarios of the conformance suite name, each with what its scenario says it does. */
import { setTimeout as pause } from 'node:timers/promises'
import {
  acceptedContent,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  type InputRequests,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext
} from '@modelcontextprotocol/server'

/** One red pixel, and a sound of one sample. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA='
/** Between steps of a tool that takes its time. */
const STEP_MS = 50

export interface FixtureOptions {
  /** Tells subscribers that a list has changed (2026-07-28). */
  readonly changed: (list: 'tools' | 'prompts') => void
  /** Breaks the stream of a request off; the answer waits for the client to come again (2025-11-25). */
  readonly breakOff: (ctx: ServerContext) => void
}

type Arguments = Readonly<Record<string, unknown>>
type Run = (args: Arguments, ctx: ServerContext) => Promise<CallToolResult | InputRequiredResult>

export interface FixtureTool {
  readonly description: string
  readonly inputSchema: { readonly type: 'object'; readonly [key: string]: unknown }
  readonly run: Run
}

/** Sealed, so that what a client changes is refused; a key of this process is enough for one run. */
export const STATES = createRequestStateCodec<{ readonly step: number }>({
  key: crypto.getRandomValues(new Uint8Array(32))
})

const NONE = { type: 'object' } as const
const says = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] })

function answers(description: string, result: CallToolResult): FixtureTool {
  return { description, inputSchema: NONE, run: async () => result }
}

function does(description: string, run: Run, inputSchema: FixtureTool['inputSchema'] = NONE): FixtureTool {
  return { description, inputSchema, run }
}

const textField = (name: string): FixtureTool['inputSchema'] => ({
  type: 'object',
  properties: { [name]: { type: 'string' } },
  required: [name]
})

const CONTENT: Readonly<Record<string, FixtureTool>> = {
  test_simple_text: answers('Text', says('This is a simple text response for testing.')),
  test_image_content: answers('An image', { content: [{ type: 'image', data: PNG, mimeType: 'image/png' }] }),
  test_audio_content: answers('A sound', { content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }),
  test_embedded_resource: answers('A resource', {
    content: [
      {
        type: 'resource',
        resource: {
          uri: 'test://embedded-resource',
          mimeType: 'text/plain',
          text: 'This is an embedded resource content.'
        }
      }
    ]
  }),
  test_multiple_content_types: answers('Several kinds of content', {
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      { type: 'image', data: PNG, mimeType: 'image/png' },
      {
        type: 'resource',
        resource: {
          uri: 'test://mixed-content-resource',
          mimeType: 'application/json',
          text: '{"test":"data","value":123}'
        }
      }
    ]
  }),
  test_error_handling: answers('An error', {
    isError: true,
    content: [{ type: 'text', text: 'This tool intentionally returns an error for testing' }]
  }),
  test_streaming_elicitation: answers('A stream without requests of the server', says('done')),
  json_schema_2020_12_tool: does('A schema with everything in it', async () => says('done'), {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
      address: {
        $anchor: 'addressDef',
        type: 'object',
        properties: { street: { type: 'string' }, city: { type: 'string' } }
      }
    },
    properties: {
      name: { type: 'string' },
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: { type: 'string' },
      email: { type: 'string' }
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false
  }),
  test_header_tool: does('An argument that is a header as well', async () => says('done'), {
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': 'Region' } }
  })
}

/** What speaks while it runs. */
const SPEAKING: Readonly<Record<string, FixtureTool>> = {
  test_tool_with_logging: does('Logs while it runs', async (_args, ctx) => {
    await ctx.mcpReq.log('info', 'Tool execution started')
    await pause(STEP_MS)
    await ctx.mcpReq.log('info', 'Tool processing data')
    await pause(STEP_MS)
    await ctx.mcpReq.log('info', 'Tool execution completed')
    return says('Tool with logging executed successfully')
  }),
  test_logging_tool: does('Logs to who asked for it', async (_args, ctx) => {
    await ctx.mcpReq.log('info', 'logged')
    return says('done')
  }),
  test_tool_with_progress: does('Tells its progress', async (_args, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken
    for (const progress of [0, 50, 100]) {
      if (progress > 0) await pause(STEP_MS)
      if (progressToken === undefined) continue
      await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } })
    }
    return says('done')
  }),
  test_sampling: does(
    'Asks the model of the client',
    async ({ prompt }, ctx) => {
      const content = { type: 'text', text: String(prompt) } as const
      const answer = await ctx.mcpReq.requestSampling({ messages: [{ role: 'user', content }], maxTokens: 100 })
      return says(`LLM response: ${JSON.stringify(answer.content)}`)
    },
    textField('prompt')
  ),
  test_elicitation: does(
    'Asks the user',
    async ({ message }, ctx) => {
      const username = { type: 'string', description: "User's response" }
      const email = { type: 'string', description: "User's email address" }
      return elicited(ctx, String(message), { username, email }, ['username', 'email'])
    },
    textField('message')
  ),
  test_elicitation_sep1034_defaults: does('Asks with defaults', async (_args, ctx) =>
    elicited(ctx, 'Please check the defaults', {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true }
    })
  ),
  test_elicitation_sep1330_enums: does('Asks with every kind of choice', async (_args, ctx) =>
    elicited(ctx, 'Please choose', {
      untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
      titledSingle: { type: 'string', oneOf: titled('value', 'Option') },
      legacyEnum: {
        type: 'string',
        enum: ['opt1', 'opt2', 'opt3'],
        enumNames: ['Option One', 'Option Two', 'Option Three']
      },
      untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
      titledMulti: { type: 'array', items: { anyOf: titled('value', 'Choice') } }
    })
  )
}

function titled(value: string, title: string): object[] {
  return ['First', 'Second', 'Third'].map((rank, i) => ({ const: `${value}${i + 1}`, title: `${rank} ${title}` }))
}

async function elicited(
  ctx: ServerContext,
  message: string,
  properties: object,
  required?: string[]
): Promise<CallToolResult> {
  const requestedSchema = { type: 'object', properties, ...(required === undefined ? {} : { required }) }
  const params = { message, requestedSchema } as Parameters<typeof ctx.mcpReq.elicitInput>[0]
  const { action, content } = await ctx.mcpReq.elicitInput(params)
  return says(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`)
}

// --- what takes several rounds (2026-07-28) ---

const asks = (message: string, name: string): InputRequests[string] =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties: { [name]: { type: 'string' } }, required: [name] }
  })
const samples = (text: string, maxTokens: number): InputRequests[string] =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens })
const has = (ctx: ServerContext, ...keys: string[]): boolean =>
  keys.every((key) => ctx.mcpReq.inputResponses?.[key] !== undefined)

export const NAME = { user_name: asks('What is your name?', 'name') }

function rounds(keys: readonly string[], inputRequests: () => InputRequests, isSealed = false): FixtureTool {
  return does(`Asks for ${keys.join(', ')}`, async (_args, ctx) => {
    if (has(ctx, ...keys) && (!isSealed || ctx.mcpReq.requestState() !== undefined)) {
      return says(`state-ok: ${JSON.stringify(ctx.mcpReq.inputResponses)}`)
    }
    const requestState = isSealed ? { requestState: await STATES.mint({ step: 1 }) } : {}
    return inputRequired({ inputRequests: inputRequests(), ...requestState })
  })
}

const ROUNDS: Readonly<Record<string, FixtureTool>> = {
  test_missing_capability: rounds(['llm_answer'], () => ({ llm_answer: samples('Say pong', 16) })),
  test_input_required_result_elicitation: does('Asks for a name', async (_args, ctx) => {
    const name = acceptedContent<{ name: string }>(ctx.mcpReq.inputResponses, 'user_name')?.name
    return typeof name === 'string' ? says(`Hello, ${name}!`) : inputRequired({ inputRequests: NAME })
  }),
  test_input_required_result_sampling: rounds(['capital_question'], () => ({
    capital_question: samples('What is the capital of France?', 100)
  })),
  test_input_required_result_list_roots: rounds(['client_roots'], () => ({ client_roots: inputRequired.listRoots() })),
  test_input_required_result_request_state: rounds(['confirm'], () => CONFIRM, true),
  test_input_required_result_tampered_state: rounds(['confirm'], () => CONFIRM, true),
  test_input_required_result_multiple_inputs: rounds(
    ['user_name', 'greeting', 'client_roots'],
    () => ({ ...NAME, greeting: samples('Generate a greeting', 50), client_roots: inputRequired.listRoots() }),
    true
  ),
  test_input_required_result_multi_round: does('Asks twice', async (_args, ctx) => {
    const step = ctx.mcpReq.requestState<{ step: number }>()?.step ?? 0
    if (step === 2 && has(ctx, 'step2')) return says('done')
    const isSecond = step >= 1 && has(ctx, 'step1')
    const inputRequests: InputRequests = isSecond
      ? { step2: asks('Step 2: What is your favorite color?', 'color') }
      : { step1: asks('Step 1: What is your name?', 'name') }
    return inputRequired({ inputRequests, requestState: await STATES.mint({ step: isSecond ? 2 : 1 }) })
  }),
  test_input_required_result_capabilities: does('Asks for what the client can do', async (_args, ctx) => {
    if (ctx.mcpReq.inputResponses !== undefined) return says('done')
    const envelope = ctx.mcpReq.envelope as Record<string, unknown> | undefined
    const can = envelope?.[CLIENT_CAPABILITIES_META_KEY] as Record<string, unknown> | undefined
    const inputRequests: InputRequests = {
      ...(can?.elicitation === undefined ? {} : NAME),
      ...(can?.sampling === undefined ? {} : { greeting: samples('Generate a greeting', 50) }),
      ...(can?.roots === undefined ? {} : { client_roots: inputRequired.listRoots() })
    }
    return Object.keys(inputRequests).length === 0 ? says('nothing to ask') : inputRequired({ inputRequests })
  })
}

const CONFIRM = {
  confirm: inputRequired.elicit({
    message: 'Please confirm',
    requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] }
  })
}

/** All of them, by name. */
export function fixtureTools({ changed, breakOff }: FixtureOptions): Readonly<Record<string, FixtureTool>> {
  return {
    ...CONTENT,
    ...SPEAKING,
    ...ROUNDS,
    test_trigger_tool_change: does('Changes the list of tools', async () => {
      changed('tools')
      return says('done')
    }),
    test_trigger_prompt_change: does('Changes the list of prompts', async () => {
      changed('prompts')
      return says('done')
    }),
    test_reconnection: does('Breaks its stream off', async (_args, ctx) => {
      breakOff(ctx)
      await pause(2 * STEP_MS)
      return says('Reconnection test completed successfully')
    })
  }
}

/** Of an unknown name. */
export function unknown(what: string, name: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown ${what}: ${name}`)
}
