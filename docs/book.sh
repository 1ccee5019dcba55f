#!/usr/bin/env bash
# Builds the documentation into a site with mdBook (`cargo install mdbook`): target/book/html/index.html.
# The site keeps the paths of the repository, so one relative link works in both.
set -euo pipefail
cd "$(dirname "$0")/.."

book=target/book
rm -rf "$book"
mkdir -p "$book/src"
git ls-files -z '*.md' 'LICENSE-*' 'docs/pictures/*' 'docs/notebooks/*' | xargs -0 cp --parents --target-directory "$book/src"
mv "$book/src/docs/SUMMARY.md" "$book/src/SUMMARY.md"
# Links of the summary start in docs/.
sed -i -e 's#](\([a-z]\)#](docs/\1#' -e 's#](\.\./#](#' "$book/src/SUMMARY.md"
# The site shows the summary beside every page.
sed -i 's#^| see everything .*##' "$book/src/README.md"
cat > "$book/book.toml" <<'TOML'
[book]
title = "warpline"
src = "src"

[build]
build-dir = "html"
# Without the preprocessor that renames README.md, which would break links to it.
use-default-preprocessors = false
TOML
mdbook build "$book"
