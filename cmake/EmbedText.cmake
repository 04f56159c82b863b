# cmake -DOUT=page.cpp -DHEADER=cli/report/page/page.h -DNAMESPACE=lowtide::cli
#       -DNAMES=kPageHtml,kPageCss -DFILES=page.html,page.css -P EmbedText.cmake
# Writes a source that defines each name as the text of its file.
string(REPLACE "," ";" names "${NAMES}")
string(REPLACE "," ";" files "${FILES}")
file(WRITE ${OUT} "#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\n")
foreach(name file IN ZIP_LISTS names files)
  file(READ ${file} text)
  file(APPEND ${OUT} "\nconst std::string_view ${name} = R\"text-(")
  file(APPEND ${OUT} "${text}")
  file(APPEND ${OUT} ")text-\";\n")
endforeach()
file(APPEND ${OUT} "\n}  // namespace ${NAMESPACE}\n")
