/** First mistakes about models, keys and MCP servers. */
import type { Group } from './mistake.ts'

export const llm = (model: string, more = '') => `llm:
  models:
  - ${model}
${more}`

export const MODELS: Group = {
  title: 'Models and keys',
  mistakes: [
    {
      what: 'a provider with a typo',
      text: llm('{ name: m, provider: opnai, params: { apiKey: k } }'),
      says: /did you mean "openai"/,
      instead: llm('{ name: m, provider: openai, params: { apiKey: k } }')
    },
    {
      what: 'a model as LiteLLM writes it',
      text: llm('{ name: m, model: openai/gpt-5 }'),
      says: /provider|params/,
      instead: llm('{ name: m, provider: openai, params: { model: gpt-5 } }')
    },
    {
      what: 'a key beside params',
      text: llm('{ name: m, provider: openai, apiKey: k }'),
      says: /params/,
      instead: llm('{ name: m, provider: openai, params: { apiKey: k } }')
    },
    {
      what: 'a fallback that no model has',
      text: llm('{ name: m, provider: openai, params: { apiKey: k }, fallbacks: [spare] }'),
      says: /spare/
    },
    {
      what: 'a budget as text with a currency',
      text: llm(
        '{ name: m, provider: openai }',
        'keys: [{ name: a, key: sk-a-0123456789, budgets: [{ amount: $5, period: Month }] }]\n'
      ),
      says: /amount|number|5/
    },
    {
      what: 'a period that does not exist',
      text: llm(
        '{ name: m, provider: openai }',
        'keys: [{ name: a, key: sk-a-0123456789, budgets: [{ amount: 5, period: Monthly }] }]\n'
      ),
      says: /Month/,
      instead: llm(
        '{ name: m, provider: openai }',
        'config: { state: { path: weir-state } }\nkeys: [{ name: a, key: sk-a-0123456789, budgets: [{ amount: 5, period: Month }] }]\n'
      )
    },
    {
      what: 'a key that is too short',
      text: llm('{ name: m, provider: openai }', 'keys: [{ name: a, key: abc }]\n'),
      says: /at least|characters/
    },
    {
      what: 'a team that nobody defines',
      text: llm('{ name: m, provider: openai }', 'keys: [{ name: a, key: sk-a-0123456789, team: red }]\n'),
      says: /red/
    },
    {
      what: 'a command of an MCP server in one text',
      text: 'mcp:\n  targets: [{ name: a, stdio: { cmd: "npx -y server" } }]\n',
      says: /args/,
      instead: 'mcp:\n  targets: [{ name: a, stdio: { cmd: npx, args: ["-y", server] } }]\n'
    },
    {
      what: 'an MCP server as desktop clients write it',
      text: '{"mcpServers": {"a": {"command": "npx", "args": ["-y", "server"]}}}',
      file: 'mcp.json',
      says: /mcp\.targets|stdio/,
      instead: 'mcp:\n  targets: [{ name: a, stdio: { cmd: npx, args: ["-y", server] } }]\n'
    }
  ]
}
