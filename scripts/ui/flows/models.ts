import { equal, match } from 'node:assert/strict'
import { CLIENT_KEY } from '#scripts/ui/stage.ts'
import type { Flow } from './flow.ts'

export const modelsFlows: readonly Flow[] = [
  {
    page: 'models',
    does: 'shows what each model was asked, what failed, and the time to its first token',
    run: async (page, stage) => {
      await stage.traffic(2)
      await page.reload()
      const row = page
        .getByRole('row')
        .filter({ hasText: 'anthropic' })
        .filter({ hasText: /\d ms|\d s/ })
      await row.waitFor()
      const text = (await row.textContent()) ?? ''
      match(text, /claude-sonnet-4-5/)
      match(text, /\d %/)
    }
  },
  {
    page: 'models',
    does: 'asks two models beside each other in each of the four formats, streamed',
    run: async (page) => {
      await page.getByLabel('Key of a client').fill(CLIENT_KEY)
      await page.getByLabel('Model', { exact: true }).fill('gpt-5-mini')
      await page.getByLabel('Beside it').fill('claude-sonnet-4-5')
      for (const format of ['completions', 'responses', 'messages', 'gemini']) {
        await page.getByLabel('Client format').selectOption(format)
        await page.getByRole('button', { name: 'Send' }).click()
        for (const model of ['gpt-5-mini', 'claude-sonnet-4-5']) {
          const pane = page.getByRole('region', { name: `Answer of ${model}` })
          await pane.getByText('All of it').waitFor()
          match((await pane.textContent()) ?? '', /200.*First text.*Output/s, `${format} of ${model}`)
          equal(await pane.getByRole('alert').count(), 0)
        }
      }
      equal(page.url().includes('sk-'), false)
      // The page has the key in its field, and nowhere else.
      await page.getByLabel('Key of a client').fill('')
    }
  },
  {
    page: 'models',
    does: 'shows why a call is refused, and an answer that is not streamed with its cost',
    run: async (page) => {
      await page.getByRole('button', { name: 'Send' }).click()
      const pane = page.getByRole('region', { name: 'Answer of claude-sonnet-4-5' })
      await pane.getByRole('alert').waitFor()
      match((await pane.textContent()) ?? '', /401/)
      await page.getByLabel('Key of a client').fill(CLIENT_KEY)
      await page.getByText('System prompt, bounds, tools').click()
      await page.getByLabel('Streamed').uncheck()
      await page.getByLabel('Further fields').fill('{"temperature":')
      await page.getByRole('button', { name: 'Send' }).click()
      await page.getByText('This is no JSON object.').waitFor()
      await page.getByLabel('Further fields').fill('{"temperature": 0}')
      await page.getByRole('button', { name: 'Send' }).click()
      await pane.getByText('Cost', { exact: true }).waitFor()
      await page.getByLabel('Key of a client').fill('')
    }
  }
]
