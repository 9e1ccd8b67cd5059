/** The MCP server of the fixture: tools, resources and prompts, the same for both eras. */
import {
  acceptedContent,
  type GetPromptResult,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  type ReadResourceResult,
  Server,
  type ServerContext
} from '@modelcontextprotocol/server'
import { type FixtureOptions, fixtureTools, PNG, STATES, unknown } from './fixture-tools.ts'

const TEXT = 'text/plain'
const RESOURCES: Readonly<
  Record<string, { readonly mimeType: string; readonly text?: string; readonly blob?: string }>
> = {
  'test://static-text': { mimeType: TEXT, text: 'This is the content of the static text resource.' },
  'test://static-binary': { mimeType: 'image/png', blob: PNG },
  'test://watched-resource': { mimeType: TEXT, text: 'Watched resource content' }
}
const TEMPLATE = 'test://template/{id}/data'
/** MCP 2026-07-28, server/resources: no such resource. */
const RESOURCE_NOT_FOUND = -32602

interface Prompt {
  readonly description: string
  readonly arguments?: readonly { readonly name: string; readonly description: string; readonly required: boolean }[]
  readonly run: (args: Readonly<Record<string, string>>, ctx: ServerContext) => GetPromptResult | InputRequiredResult
}

const user = (content: GetPromptResult['messages'][number]['content']): GetPromptResult['messages'][number] => ({
  role: 'user',
  content
})
const text = (content: string): GetPromptResult['messages'][number] => user({ type: 'text', text: content })
const argument = (name: string): { name: string; description: string; required: boolean } => ({
  name,
  description: name,
  required: true
})

const PROMPTS: Readonly<Record<string, Prompt>> = {
  test_simple_prompt: {
    description: 'Text',
    run: () => ({ messages: [text('This is a simple prompt for testing.')] })
  },
  test_prompt_with_arguments: {
    description: 'Text with arguments',
    arguments: [argument('arg1'), argument('arg2')],
    run: ({ arg1, arg2 }) => ({ messages: [text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)] })
  },
  test_prompt_with_embedded_resource: {
    description: 'A resource',
    arguments: [argument('resourceUri')],
    run: ({ resourceUri }) => ({
      messages: [
        user({
          type: 'resource',
          resource: { uri: resourceUri!, mimeType: TEXT, text: 'Embedded resource content for testing.' }
        }),
        text('Please process the embedded resource above.')
      ]
    })
  },
  test_prompt_with_image: {
    description: 'An image',
    run: () => ({
      messages: [user({ type: 'image', data: PNG, mimeType: 'image/png' }), text('Please analyze the image above.')]
    })
  },
  test_input_required_result_prompt: {
    description: 'Asks first',
    run: (_args, ctx) => {
      const answer = acceptedContent<{ context: string }>(ctx.mcpReq.inputResponses, 'user_context')
      if (answer !== undefined) return { messages: [text(`Context: ${answer.context}`)] }
      return inputRequired({
        inputRequests: {
          user_context: inputRequired.elicit({
            message: 'What context should the prompt use?',
            requestedSchema: { type: 'object', properties: { context: { type: 'string' } }, required: ['context'] }
          })
        }
      })
    }
  }
}

/** One per session, or one per request without sessions. */
export function fixtureServer(options: FixtureOptions): Server {
  const server = new Server(
    { name: 'weir-conformance-fixture', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        prompts: { listChanged: true },
        logging: {},
        completions: {}
      },
      requestState: { verify: STATES.verify }
    }
  )
  const tools = fixtureTools(options)
  server.setRequestHandler('tools/list', async () => ({
    tools: Object.entries(tools).map(([name, { description, inputSchema }]) => ({ name, description, inputSchema }))
  }))
  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    const tool = Object.hasOwn(tools, params.name) ? tools[params.name] : undefined
    if (tool === undefined) throw unknown('tool', params.name)
    return tool.run(params.arguments ?? {}, ctx)
  })
  resources(server)
  prompts(server)
  server.setRequestHandler('logging/setLevel', async () => ({}))
  server.setRequestHandler('completion/complete', async () => ({
    completion: { values: ['paris', 'park', 'party'], total: 3, hasMore: false }
  }))
  return server
}

function resources(server: Server): void {
  server.setRequestHandler('resources/list', async () => ({
    resources: Object.entries(RESOURCES).map(([uri, { mimeType }]) => ({ uri, name: uri, description: uri, mimeType }))
  }))
  server.setRequestHandler('resources/templates/list', async () => ({
    resourceTemplates: [
      { uriTemplate: TEMPLATE, name: 'template', description: 'A template', mimeType: 'application/json' }
    ]
  }))
  server.setRequestHandler('resources/read', async ({ params }) => read(params.uri))
  server.setRequestHandler('resources/subscribe', async () => ({}))
  server.setRequestHandler('resources/unsubscribe', async () => ({}))
}

function read(uri: string): ReadResourceResult {
  const known = Object.hasOwn(RESOURCES, uri) ? RESOURCES[uri] : undefined
  if (known !== undefined) return { contents: [{ uri, ...known } as ReadResourceResult['contents'][number]] }
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
  if (id === undefined) throw new ProtocolError(RESOURCE_NOT_FOUND, 'Resource not found', { uri })
  const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
  return { contents: [{ uri, mimeType: 'application/json', text: data }] }
}

function prompts(server: Server): void {
  server.setRequestHandler('prompts/list', async () => ({
    prompts: Object.entries(PROMPTS).map(([name, { run: _, ...prompt }]) => ({
      name,
      description: prompt.description,
      ...(prompt.arguments === undefined ? {} : { arguments: [...prompt.arguments] })
    }))
  }))
  server.setRequestHandler('prompts/get', async ({ params }, ctx) => {
    const prompt = Object.hasOwn(PROMPTS, params.name) ? PROMPTS[params.name] : undefined
    if (prompt === undefined) throw unknown('prompt', params.name)
    return prompt.run(params.arguments ?? {}, ctx)
  })
}
