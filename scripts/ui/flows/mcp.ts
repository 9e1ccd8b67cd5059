import { match } from 'node:assert/strict'
import type { Flow } from './flow.ts'

export const mcpFlows: readonly Flow[] = [
  {
    page: 'mcp',
    does: 'lists tools, calls one by a form made from its schema, and says what is missing',
    run: async (page) => {
      await page.getByRole('button', { name: 'Connect' }).click()
      await page.getByRole('button', { name: 'get-sum' }).click()
      await page.getByLabel('a', { exact: true }).fill('2')
      await page.getByLabel('b', { exact: true }).fill('x')
      await page.getByRole('button', { name: 'Call' }).click()
      await page.getByText('This is no number.').waitFor()
      await page.getByLabel('b', { exact: true }).fill('40')
      await page.getByRole('button', { name: 'Call' }).click()
      await page
        .getByText(/The sum of 2 and 40 is 42/)
        .first()
        .waitFor()
      match(page.url(), /kind=tools&item=get-sum/)
      await page.getByText('tools/call').first().waitFor()
    }
  },
  {
    page: 'mcp',
    does: 'answers what a server asks the person for',
    run: async (page) => {
      await page.getByRole('button', { name: 'Connect' }).click()
      await page.getByRole('button', { name: 'trigger-elicitation-request' }).click()
      await page.getByRole('button', { name: 'Call' }).click()
      await page.getByRole('heading', { name: 'The server asks: elicitation/create' }).waitFor()
      await page.getByRole('button', { name: 'Decline' }).click()
      await page
        .getByText(/declined/i)
        .first()
        .waitFor()
    }
  }
]
